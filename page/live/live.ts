import type { InstanceRow } from '../../src/server/gateway/instance-rows.ts'
import { type Carrier, listKey, readJson } from '../mcp/carrier.ts'
import type { Login } from '../mcp/login.ts'
import { clientsUri, readClients } from './clients.ts'
import { Drafts } from './drafts.ts'
import { readNotes } from './notes.ts'
import { Picture } from './picture.ts'
import { followed } from './refresh.ts'
import { SceneState } from './scene.ts'

export type Live = ReturnType<typeof createLive>

/** All that screens show. What is followed is null until it is known. */
export function createLive(carrier: Carrier, login: Login | null) {
  return {
    carrier,
    /** Null inside of a chat, where nothing is written. */
    login,
    drafts: new Drafts(),
    scene: new SceneState(carrier),
    picture: new Picture(carrier),
    notes: followed(carrier, 'notes://open', () => readNotes(carrier)),
    clients: followed(carrier, clientsUri, () => readClients(carrier)),
    files: followed(carrier, listKey, async () =>
      (await carrier.list()).filter(({ uri }) => uri.startsWith('artefact://')),
    ),
    instances: followed(carrier, 'gateway://instances', async () => {
      const list = await readJson<{ instances: InstanceRow[] }>(carrier, 'gateway://instances')
      return list.instances
    }),
  }
}
