import type { ReadonlySignal } from '@preact/signals'
import type { Carrier, Descriptor } from '../mcp/carrier.ts'
import type { PageWrites } from '../mcp/page-writes.ts'
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
  /** What a person may do on the page; null inside of a chat. */
  readonly person: Person | null
}

interface Person {
  readonly login: Login
  readonly writes: PageWrites
  readonly drafts: Drafts
}

export function createLive(carrier: Carrier, signedIn: Omit<Person, 'drafts'> | null): Live {
  const scene = new SceneState(carrier)
  return {
    carrier,
    scene,
    person: signedIn && { ...signedIn, drafts: new Drafts() },
    picture: new Picture(carrier),
    notes: new NotesState(carrier),
    clients: followClients(carrier),
    files: followFiles(carrier),
    instances: followInstances(carrier),
  }
}
