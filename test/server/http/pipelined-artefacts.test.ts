import { randomBytes } from 'node:crypto'
import { connect } from 'node:net'
import { expect } from 'chai'
import { createFsStore } from '../../../src/server/artefacts/fs-store.ts'
import type { ArtefactStore } from '../../../src/server/artefacts/store.ts'
import { startServer } from '../../helpers/mcp.ts'
import { statelessHeaders, statelessRequest } from '../../helpers/stateless.ts'
import { withFolder } from '../../helpers/folder.ts'

const count = 12
const limits = { maxCachedBlobBytes: 64 * 1024 }
const bytes = randomBytes(300_000)

/** The store; `most` is how many artefacts were open for clients at the same time. */
function counting(store: ArtefactStore) {
  const seen = { most: 0, open: 0, onClose: () => {} }
  const counted: ArtefactStore = {
    ...store,
    async openToSend(hex, cut) {
      const artefact = await store.openToSend(hex, cut)
      if (artefact === null) return null
      seen.most = Math.max(seen.most, ++seen.open)
      return {
        ...artefact,
        async close() {
          await artefact.close()
          seen.open--
          seen.onClose()
        },
      }
    },
  }
  return { counted, seen }
}

function readRequest(uri: string): string {
  const body = JSON.stringify(statelessRequest('resources/read', { uri }))
  const headers = { ...statelessHeaders('resources/read', { uri }), 'Content-Length': body.length }
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
  return `POST /mcp HTTP/1.1\r\nHost: localhost\r\n${lines.join('')}\r\n${body}`
}

const forms: [string, (uri: string) => string, string][] = [
  ['reads', readRequest, bytes.toString('base64')],
  [
    'downloads',
    uri => {
      const path = `/artefacts/sha256/${uri.slice('artefact://sha256/'.length)}`
      return `GET ${path} HTTP/1.1\r\nHost: localhost\r\n\r\n`
    },
    bytes.toString('latin1'),
  ],
]

describe('requests for artefacts sent ahead on one connection', () => {
  for (const [name, request, whole] of forms) {
    it(`opens one artefact at a time for ${name}, and answers them all`, () =>
      withFolder(async root => {
        const store = await createFsStore({ root })
        const { counted, seen } = counting(store)
        const { ref } = await store.put(bytes)
        const running = await startServer(
          { enableArtefactResources: true, limits },
          { store: counted },
        )
        const socket = connect(Number(new URL(running.url).port), '127.0.0.1')
        try {
          socket.write(request(ref.uri).repeat(count))
          let text = ''
          for await (const chunk of socket.setEncoding('latin1')) {
            text += chunk
            const mayBeAll = text.length >= count * whole.length
            if (mayBeAll && text.split(whole).length > count) break
          }
          expect(seen.most).to.equal(1)
        } finally {
          socket.destroy()
          await running.stop()
          await store.close()
        }
      }))

    it(`lets go of ${name} whose client is gone`, () =>
      withFolder(async root => {
        const store = await createFsStore({ root })
        const { counted, seen } = counting(store)
        const { ref } = await store.put(bytes)
        const ended = Promise.withResolvers<void>()
        let left = count
        const accessLog = () => void (--left === 0 && ended.resolve())
        const running = await startServer(
          { enableArtefactResources: true, limits },
          { store: counted, accessLog },
        )
        const socket = connect(Number(new URL(running.url).port), '127.0.0.1')
        try {
          socket.write(request(ref.uri).repeat(count))
          await new Promise(resolve => socket.once('data', resolve))
          socket.destroy()
          await ended.promise
          while (seen.open > 0) await new Promise<void>(resolve => (seen.onClose = resolve))
        } finally {
          await running.stop()
          await store.close()
        }
      }))
  }
})
