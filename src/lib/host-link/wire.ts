import type { JsonObject } from '../util/json.ts'

/** The server's side of `dcc-host.v1` (docs/host-link.md); the application's is in `messages.ts`. */

/** The WebSocket sub-protocol. */
export const subprotocol = 'dcc-host.v1'

export const closeCodes = {
  bye: 1000,
  serverStops: 1001,
  overloaded: 1013,
  badMessage: 4400,
  tokenWrong: 4401,
  replaced: 4409,
  hostTaken: 4423,
} as const

/** Why the server refuses a message. */
export type LinkErrorCode =
  | 'invalid'
  | 'unknown_type'
  | 'not_found'
  | 'scheme_taken'
  | 'unsupported'
  | 'limit'
  | 'mismatch'
  | 'stale'
  | 'internal'

export const modes = ['gui', 'background'] as const

export type Mode = (typeof modes)[number]

/** What a picture shows: the whole window, or only the view of the scene. */
export const pictureTargets = ['window', 'viewport'] as const

export type PictureTarget = (typeof pictureTargets)[number]

export const shotSides = ['front', 'right', 'top', 'three-quarter'] as const

/** Where a picture of the scene is taken from, when it is not the view on the screen. */
export type PictureShot =
  | { readonly camera: string }
  /** Ids of objects, which fill the picture. */
  | { readonly of: readonly string[]; readonly from: (typeof shotSides)[number] }
  /** The view of an earlier picture or a note, as the application gave it. */
  | { readonly view: JsonObject }

export interface Welcome {
  readonly type: 'welcome'
  readonly server: { readonly name: string; readonly version: string }
  readonly limits: {
    readonly max_message_bytes: number
    readonly max_batch: number
    readonly max_patched_objects: number
  }
  readonly heartbeat_ms: number
  readonly need_scene: boolean
}

/** To be answered in time, with the same id. */
interface Request<Type extends string> {
  readonly type: Type
  readonly id: string
  readonly deadline_ms: number
}

/** From the server to the application. */
export type ServerMessage =
  | Welcome
  | (Request<'read'> & { readonly uri: string })
  | (Request<'capture'> & {
      readonly target: PictureTarget
      readonly shot?: PictureShot
      readonly max_width: number
      readonly max_bytes: number
    })
  /** To be answered once the server has the scene as the application shows it. */
  | Request<'refresh'>
  /** Whether a client follows the scene. Else few scenes are enough: readers ask for a refresh. */
  | { readonly type: 'demand'; readonly scene: boolean }
  /** A client got a picture of the application, taken by the application or from outside. */
  | { readonly type: 'captured'; readonly target: PictureTarget }
  /** The notes of the open document, whole as `notes://{id}` has them; to those that ask. */
  | { readonly type: 'notes'; readonly notes: readonly object[]; readonly pictures: string }
  /** The clients of the server as `server://clients` has them; to those that ask for notes. */
  | { readonly type: 'clients'; readonly clients: readonly object[] }
  | { readonly type: 'cancel'; readonly id: string }
