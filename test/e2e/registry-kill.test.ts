import { testKilledAccounts } from './accounts-kill-suite.ts'

testKilledAccounts(Number(process.env.KILL_ROUNDS ?? 3))
