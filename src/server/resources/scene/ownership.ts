import type { ScenePatch } from '../../../lib/host-link/scene-objects.ts'
import type { SceneDemand } from './demand.ts'
import type { SceneRevision } from './revision.ts'

/** The application on the host link, as shown to clients. */
export interface SceneApplication {
  /** The same for all links of one run of the application. */
  readonly instanceId: string
  readonly connected: boolean
  readonly dccType: string
}

/** The application that a scene is from. */
export interface ShownApplication extends SceneApplication {
  /** When it connected or disconnected. */
  readonly sinceMs: number
  /** The revision of the scene at that time. */
  readonly sinceRevision: number
}

/** The scene as the host link reads and changes it. */
export interface SceneOwnership {
  readonly current: SceneRevision
  readonly application: ShownApplication | null
  /**
   * When the scene was last known to be what the application shows; null: it is, or no
   * application can say.
   */
  readonly asOfMs: number | null
  /** The subscribers of the scene, and the application that can confirm it. */
  readonly demand: SceneDemand
  /** Instance id of the application that set the current scene; null: another source, or none. */
  readonly setBy: string | null
  /** Whether the connected application set the scene: other sources must not replace it. */
  readonly isLive: boolean
  /** The application may show another scene, until it sends one or confirms this one. */
  doubt(): void
  /** Asks the application for what the scene lacks. Null: there is nothing to wait for. */
  refreshed(): Promise<void> | null
  /** The application connected, disconnected or changed its type. */
  tell(application: SceneApplication): void
  /**
   * Changes the current scene and returns the new revision. `base`: the revision that the patch
   * builds on, null for any. Throws `scene_stale` when the scene is another one or not from
   * `setBy`, `limit_reached` when it would become too large, and `TypeError` when its objects have
   * no ids; then nothing changes.
   */
  patch(patch: ScenePatch, base: number | null, setBy?: string | null): number
}
