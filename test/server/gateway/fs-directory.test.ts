import { describeInstanceDirectory } from './instance-directory-suite.ts'
import { openFsUnderTest } from './fs-harness.ts'

describeInstanceDirectory('the folder of instance records', () => openFsUnderTest())
