import type { Limits } from '../../../lib/config/limits.ts'
import type { Clock, Timer } from '../../../lib/util/time.ts'
import type { ServedResources } from '../../resources/schemes.ts'
import { sceneCurrentUri } from '../../resources/scene.ts'
import type { SubscriptionHub } from '../subscriptions.ts'
import { listResourcesTool } from './list-resources.ts'
import { lookTool } from './look.ts'
import { querySceneTool } from './query-scene.ts'
import { readResourceTool } from './read-resource.ts'
import { sceneChangesTool } from './scene-changes.ts'
import type { Tool } from './tool.ts'
import { WaitForChange } from './wait-for-change.ts'

/** Whose resources the tools are about. */
export type ToolSet = 'application' | 'gateway'

interface ToolParts {
  readonly registry: ServedResources
  readonly hub: SubscriptionHub
  readonly clock: Clock
  readonly timer: Timer
  readonly limits: Limits
}

/** The tools of a server in their constant order; `close` ends the calls that wait. */
export function createTools(
  set: ToolSet,
  parts: ToolParts,
): { readonly tools: readonly Tool[]; close(): void } {
  const { registry } = parts
  const defaultUri = set === 'application' ? sceneCurrentUri : 'gateway://instances'
  const wait = new WaitForChange({ ...parts, defaultUri })
  const both = [listResourcesTool(registry), readResourceTool(registry)]
  const ofScene = [querySceneTool(registry), sceneChangesTool(registry), lookTool(registry)]
  return {
    tools: set === 'application' ? [...both, ...ofScene, wait] : [...both, wait],
    close: () => wait.close(),
  }
}
