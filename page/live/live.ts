import type { ReadonlySignal } from '@preact/signals'
import type { Carrier, Descriptor } from '../mcp/carrier.ts'
import type { Login } from '../mcp/login.ts'
import { type ClientRow, followClients } from './clients.ts'
import { Drafts } from './drafts.ts'
import { followFiles } from './files.ts'
import { followInstances, type InstanceRow } from './instances.ts'
import { NotesState } from './notes.ts'
import { Picture } from './picture.ts'
import { SceneState } from './scene.ts'

/** All that screens show. */
export interface Live {
  readonly carrier: Carrier
  readonly scene: SceneState
  readonly picture: Picture
  readonly notes: NotesState
  /** Null: the server does not tell. */
  readonly clients: ReadonlySignal<readonly ClientRow[] | null>
  readonly files: ReadonlySignal<readonly Descriptor[] | null>
  readonly instances: ReadonlySignal<readonly InstanceRow[] | null>
  /** Null inside of a chat, where nothing is written. */
  readonly login: Login | null
  readonly drafts: Drafts
}

export function createLive(carrier: Carrier, login: Login | null): Live {
  return {
    carrier,
    scene: new SceneState(carrier),
    picture: new Picture(carrier),
    notes: new NotesState(carrier),
    clients: followClients(carrier),
    files: followFiles(carrier),
    instances: followInstances(carrier),
    login,
    drafts: new Drafts(),
  }
}
