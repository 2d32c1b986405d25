import { testKilledAccounts } from '../e2e/accounts-kill-suite.ts'

testKilledAccounts(Number(process.env['KILL_ROUNDS'] ?? 10))
