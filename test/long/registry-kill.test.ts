import { testKilledRegistry } from '../e2e/registry-kill-suite.ts'

testKilledRegistry(Number(process.env['KILL_ROUNDS'] ?? 10))
