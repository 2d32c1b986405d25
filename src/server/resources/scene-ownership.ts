import type { SceneObjects, ScenePatch } from '../../lib/host-link/scene-objects.ts'
import type { SceneDemand } from './scene-demand.ts'
import type { SceneRevision } from './scene-revision.ts'

/** The application on the host link, as shown to clients. */
export interface SceneApplication {
  /** The same for all links of one run of the application. */
  readonly instanceId: string
  readonly connected: boolean
  readonly dccType: string
}

/** The application that a scene is from. */
export interface ShownApplication extends SceneApplication {
  /** When it connected, or went. */
  readonly sinceMs: number
  /** Of the scene at that time. */
  readonly sinceRevision: number
}

/** What the host link needs to know and tell of the scene. */
export interface SceneOwnership {
  readonly current: SceneRevision
  readonly application: ShownApplication | null
  /**
   * When the scene was last known to be what the application shows; null: it is, or no
   * application can say.
   */
  readonly asOfMs: number | null
  /** Who wants the scene, and who can say whether it is the newest. */
  readonly demand: SceneDemand
  /** Instance id of the application that set the current scene; null: another source, or none. */
  readonly setBy: string | null
  /** Does the connected application hold the scene? Then other sources must not replace it. */
  readonly isLive: boolean
  /** The application may show another scene; ends with the next one, or once it confirms this one. */
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
  /** Replaces the scene by one that came in parts; it is not used by its sender any more. */
  setObjects(scene: SceneObjects, setBy: string): number
}
