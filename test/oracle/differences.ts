import type { Difference } from './difference.ts'
import { messageDifferences } from './differences/messages.ts'
import { methodDifferences } from './differences/methods.ts'
import { statelessDifferences } from './differences/stateless.ts'
import { transportDifferences } from './differences/transport.ts'

/** All that is answered otherwise than by the official SDK; anything else is a failure. */
export const differences: readonly Difference[] = [
  ...transportDifferences,
  ...messageDifferences,
  ...methodDifferences,
  ...statelessDifferences,
]
