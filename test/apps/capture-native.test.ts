import { describeWindowBackend } from './display/backend-suite.ts'

describeWindowBackend('native')
