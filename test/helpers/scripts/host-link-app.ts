import { LinkClient } from '../link.ts'

// An application in a process of its own, to be frozen and killed. Answers every read with its URI.
const [hostUrl = '', token = ''] = process.argv.slice(2)
const app = await LinkClient.connect({ hostUrl, token })
app.answer = ({ type, uri }) => (type === 'read' ? { contents: [{ uri, text: uri }] } : undefined)
await app.done({
  type: 'producer.register',
  scheme: 'frozen',
  resources: [{ uri: 'frozen://1', name: 'one' }],
})
await app.done({ type: 'scene.set', scene: { from: 'a process' } })
setInterval(() => app.say({ type: 'heartbeat', main_idle_ms: 0 }), 100).unref()
process.stdout.write('ready\n')
const { code } = await app.closed
process.stdout.write(`closed ${code}, cancelled ${app.ofType('cancel').length}\n`)
