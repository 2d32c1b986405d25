// A host whose server goes away, and that looks at none of its promises; run by a test.
import { HostClient } from '../../../src/lib/host-link/host-client.ts'
import { ScriptedServer } from './scripted-server.ts'

const server = await ScriptedServer.start({ answer: () => null })
const app = { dccType: 'blender', mode: 'gui' } as const
const options = { url: server.url, token: 'token', app, limits: { stopGraceMs: 100 } }
const host = new HostClient(options)
host.start()
await host.connected()
host.setScene({ frame: 1 })
void host.sceneSettled()
void host.connected({ signal: AbortSignal.abort() })
void host.putArtefact('/nowhere/at/all', { mime: 'text/plain' })
void host.putArtefact(Buffer.from('x'), { mime: 'text/plain' })
void host.putArtefact(Buffer.from('x'), { mime: 'none' })
host.addProducer({ scheme: 'a', list: () => Promise.reject(new Error('no')), read: () => [] })
host.record({ action: 'a' })
await new Promise(resolve => setTimeout(resolve, 50))
await server.kill()
void host.connected()
await host.stop()
void host.connected()
const other = new HostClient({ ...options, url: 'http://127.0.0.1:1/host' })
other.start()
void other.connected()
await new Promise(resolve => setTimeout(resolve, 50))
await other.stop()
console.log('stopped')
