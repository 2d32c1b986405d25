import { testKilledAccounts } from './accounts-kill-suite.ts'

testKilledAccounts(3)
