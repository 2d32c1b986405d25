import { testKilledRegistry } from './registry-kill-suite.ts'

testKilledRegistry(3)
