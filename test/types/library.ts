/** Read by `npm run check` alone: what the compiler takes and refuses of a program with the library. */
import {
  ApiKeyConfig,
  apiKeyPolicy,
  type ArtefactRef,
  artefactPutBytes,
  AuditLog,
  type AuthPolicy,
  McpHttpServer,
  type ResourceProducer,
  ServiceError,
  SessionEventBuffer,
} from '../../src/index.ts'
import { HostClient } from '../../src/host-client.ts'

const policy: AuthPolicy = apiKeyPolicy('k'.repeat(43))
const server = new McpHttpServer({ port: 0, limits: { maxMessageBytes: 1 } }, { auth: policy })
// @ts-expect-error no such setting
new McpHttpServer({ prot: 0 })
// @ts-expect-error no such limit
new McpHttpServer({ limits: { maxMesageBytes: 1 } })
// @ts-expect-error a key is no policy
new McpHttpServer({}, { auth: 'key' })

const revision: number = server.resources().setScene({ objects: [{ id: 'Cube' }] })
server.resources().setScene(null)
// @ts-expect-error a scene is an object
server.resources().setScene('Cube')
server.resources().patchScene({ objects: [{ id: 'Cube' }], removed: ['Light'] })
// @ts-expect-error ids are removed, not objects
server.resources().patchScene({ removed: [{ id: 'Light' }] })

const log = new AuditLog()
const id: number = log.record({ action: 'mesh.create', outcome: 'success' }).id
// @ts-expect-error no such outcome
log.record({ action: 'mesh.create', outcome: 'fine' })
new SessionEventBuffer({ sessionId: 'render-12' }).append({
  source: 'farm',
  stream: 'log',
  message: 'done',
})
// @ts-expect-error an event has a message
new SessionEventBuffer({ sessionId: 'render-12' }).append({ source: 'farm', stream: 'log' })

const guide: ResourceProducer = {
  scheme: 'guide',
  list: () => [{ uri: 'guide://rig', name: 'rig' }],
  read: uri => [{ uri, text: '# How the new rig works' }],
}
server.resources().addProducer(guide)
// @ts-expect-error a producer reads
server.resources().addProducer({ scheme: 'guide', list: () => [] })

const stored: Promise<ArtefactRef> = artefactPutBytes(new Uint8Array(1), { mime: 'image/png' })
const key: string | null = new ApiKeyConfig().resolve()
const hint: string | undefined = new ServiceError('config_invalid', 'no such file').hint
// @ts-expect-error no such code
new ServiceError('no_such_code', 'no such file')

const client = new HostClient({ token: 'token', app: { dcc_type: 'viewer' } })
client.setScene({ objects: [{ id: 'Cube' }] })
client.patchScene({ objects: [{ id: 'Cube' }], removed: ['Light'] })
// @ts-expect-error an object has an id
client.patchScene({ objects: [{ name: 'Cube' }] })
void client.actOnNote('a1b2c3d4', 'answer', 'ada', 'done')
// @ts-expect-error no such action
void client.actOnNote('a1b2c3d4', 'delete')
// @ts-expect-error a client says which application it is
new HostClient({ token: 'token' })

export { hint, id, key, revision, stored }
