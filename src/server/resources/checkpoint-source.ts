import type { JsonDifferences } from '../../lib/mcp/json-diff.ts'

/** Where `scene://checkpoints` comes from. */
export interface CheckpointSource {
  /** The oldest first. */
  list(): Promise<readonly { readonly name: string }[]>
  /** The text of its scene. Rejects with `resource_not_found`. */
  find(name: string): Promise<string>
  /** Between the texts of any two scenes. */
  changes(base: string, until: string, maxChanges: number): Promise<JsonDifferences>
  /** Sets the listener of changes. */
  onChange(told: () => void): void
}
