import { once } from 'node:events'
import { type IncomingMessage, type RequestOptions, createServer, request } from 'node:http'
import { type AddressInfo } from 'node:net'
import { resolveLimits } from '../../../src/lib/config/limits.ts'
import { createArtefactDownload } from '../../../src/server/http/artefact-download.ts'
import { type FsStore, createFsStore } from '../../../src/server/artefacts/fs-store.ts'
import type { ArtefactStore } from '../../../src/server/artefacts/store.ts'
import { withFolder } from '../../helpers/folder.ts'
import { recordingLog } from '../../helpers/recording-log.ts'
import { settableClock } from '../../helpers/settable-clock.ts'
import { sha256 } from '../../unit/artefacts/support.ts'

interface Setup {
  root: string
  store: FsStore
  port: number
  /** Artefacts opened and not closed yet. */
  opened(): number
  /** Artefacts opened to be sent, so far. */
  sent(): number
  /** Resolves when the handler has answered for the n-th time. */
  handled(count: number): Promise<void>
  log: ReturnType<typeof recordingLog>
}

/** The real store, with its open artefacts counted. */
function counting(store: ArtefactStore) {
  let opened = 0
  let sent = 0
  const counted: ArtefactStore = {
    ...store,
    async openToSend(hex, cut) {
      const artefact = await store.openToSend(hex, cut)
      if (artefact === null) return null
      opened++
      sent++
      return {
        ...artefact,
        async close() {
          opened--
          await artefact.close()
        },
      }
    },
  }
  return { counted, opened: () => opened, sent: () => sent }
}

export function withServer(use: (setup: Setup) => Promise<void>, bodyTimeoutMs = 10_000) {
  return withFolder(async root => {
    const store = await createFsStore({ root, clock: settableClock() })
    const { counted, opened, sent } = counting(store)
    const limits = resolveLimits({ bodyTimeoutMs })
    const log = recordingLog()
    const download = createArtefactDownload({ store: counted, limits, log })
    let done = 0
    let onDone = () => {}
    const server = createServer((req, res) => {
      const hex = (req.url ?? '').replace('/artefacts/sha256/', '')
      void download(req, res, hex).then(() => {
        done++
        onDone()
      })
    })
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    const { port } = server.address() as AddressInfo
    const handled = async (count: number) => {
      while (done < count) await new Promise<void>(resolve => (onDone = resolve))
    }
    try {
      await use({ root, store, port, opened, sent, handled, log })
    } finally {
      server.closeAllConnections()
      server.close()
      await store.close()
    }
  })
}

export interface Answer {
  status: number
  headers: IncomingMessage['headers']
  body: Buffer
  isComplete: boolean
}

export async function ask(
  port: number,
  hex: string,
  options: RequestOptions = {},
): Promise<Answer> {
  const path = `/artefacts/sha256/${hex}`
  const req = request({ host: '127.0.0.1', port, path, agent: false, ...options }).end()
  const [res] = (await once(req, 'response')) as [IncomingMessage]
  const pieces: Buffer[] = []
  res.on('data', piece => pieces.push(piece))
  res.on('error', () => {})
  await new Promise(resolve => res.on('close', resolve))
  const { statusCode: status = 0, headers, complete: isComplete } = res
  return { status, headers, body: Buffer.concat(pieces), isComplete }
}

export async function put(store: FsStore, bytes: Uint8Array, options = {}): Promise<string> {
  await store.put(bytes, options)
  return sha256(bytes)
}
