import { describeWindowBackend } from './display/backend-suite.ts'

describeWindowBackend('x11')
