import type { JsonDifferences } from '../../lib/mcp/json-diff.ts'
import type { SceneRevision } from './scene/revision.ts'

/** A scene that a person gave a name. */
export interface NamedRevision extends SceneRevision {
  readonly checkpoint: string
}

/** Where `scene://checkpoints` comes from. */
export interface CheckpointSource {
  /** The oldest first. */
  list(): Promise<readonly { readonly name: string }[]>
  /** Rejects with `resource_not_found`. */
  find(name: string): Promise<NamedRevision>
  /** Between any two scenes. */
  changes(base: SceneRevision, until: SceneRevision, maxChanges: number): Promise<JsonDifferences>
  /** Sets the listener of changes. */
  onChange(told: () => void): void
}
