import type { ReadonlySignal } from '@preact/signals'
import { type Carrier, type Descriptor, listKey } from '../mcp/carrier.ts'
import type { Login } from '../mcp/login.ts'
import { type ClientRow, clientsUri, readClients } from './clients.ts'
import { Drafts } from './drafts.ts'
import { type InstanceRow, instancesUri, readInstances } from './instances.ts'
import { NotesState } from './notes.ts'
import { Picture } from './picture.ts'
import { followed } from './refresh.ts'
import { SceneState } from './scene.ts'

/** All that screens show. */
export interface Live {
  readonly carrier: Carrier
  readonly scene: SceneState
  readonly picture: Picture
  readonly notes: NotesState
  /** Null: not known yet, or the server does not tell. */
  readonly clients: ReadonlySignal<readonly ClientRow[] | null>
  /** Newest first; null until they are known, like the instances. */
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
    clients: followed(carrier, clientsUri, () => readClients(carrier)),
    files: followed(carrier, listKey, async () =>
      (await carrier.list()).filter(({ uri }) => uri.startsWith('artefact://')),
    ),
    instances: followed(carrier, instancesUri, () => readInstances(carrier)),
    login,
    drafts: new Drafts(),
  }
}
