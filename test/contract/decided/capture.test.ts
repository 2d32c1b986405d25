import { expect } from 'chai'
import { silentLogger } from '../../../src/lib/util/logger.ts'
import { fail, ok } from '../../../src/lib/util/result.ts'
import { resolveCaptureLimits } from '../../../src/server/capture/limits.ts'
import { noApplication } from '../../../src/server/capture/target.ts'
import { WindowCapture } from '../../../src/server/capture/window-capture.ts'
import { MemoryBackend, noDisplay } from '../../helpers/memory-capture.ts'
import { RawSession } from '../../helpers/mcp.ts'
import { callStateless, listenStateless } from '../../helpers/stateless.ts'
import {
  facts,
  failure,
  listAll,
  listedUris,
  listening,
  readCode,
  type Scene,
  serving,
} from '../facts.ts'
import { until } from '../../helpers/until.ts'

const uri = 'capture://current_window'
const template = 'capture://current_window{?max_width}'
const listChanged = 'notifications/resources/list_changed'

function windowOf(backend: MemoryBackend): WindowCapture {
  const limits = resolveCaptureLimits()
  const parts = { mode: 'auto', backends: [backend], limits, log: silentLogger } as const
  return new WindowCapture(parts, noApplication)
}

/** A library server whose window is that of a backend in memory, once it is listed or refused. */
function showing(backend: MemoryBackend, check: (scene: Scene) => Promise<unknown>): Promise<void> {
  return serving(
    async scene => {
      await until(() => backend.probed.length > 0, 'the probe')
      await check(scene)
    },
    {},
    () => {},
    { capture: backend },
  )
}

async function templatesOf(session: RawSession): Promise<string[]> {
  const { result } = await session.call('resources/templates/list')
  return result.resourceTemplates.map((each: { uriTemplate: string }) => each.uriTemplate)
}

async function pictureOf(session: RawSession, of: string): Promise<any> {
  const { result, error } = await session.call('resources/read', { uri: of })
  expect(error, of).to.equal(undefined)
  expect(result.contents).to.have.length(1)
  return result.contents[0]
}

/** Width and height as the file says. */
function sizeOf(blob: string): [number, number] {
  const png = Buffer.from(blob, 'base64')
  expect(png.toString('base64'), 'padded base64').to.equal(blob)
  expect(png.toString('hex', 0, 8)).to.equal('89504e470d0a1a0a')
  return [png.readUInt32BE(16), png.readUInt32BE(20)]
}

facts('specification: Built-in resources, capture://current_window', [
  [
    'it is a PNG as base64 blob, listed as image/png where a backend exists',
    () =>
      showing(new MemoryBackend(), async ({ session }) => {
        const listed = (await listAll(session)).find(each => each.uri === uri)
        expect(listed).to.include({ mimeType: 'image/png' })
        const content = await pictureOf(session, uri)
        expect(content).to.have.all.keys('uri', 'mimeType', 'blob')
        expect(content).to.include({ uri, mimeType: 'image/png' })
        expect(sizeOf(content.blob)).to.deep.equal([40, 20])
      }),
  ],
  [
    'a failing capture backend is −32603, with the reason',
    () => {
      const backend = new MemoryBackend()
      return showing(backend, async ({ session }) => {
        for (const reason of [
          'minimised',
          'no_window',
          'permission',
          'timeout',
          'blank',
        ] as const) {
          backend.failure = reason
          const error = await failure(session, 'resources/read', { uri })
          expect(error.code, reason).to.equal(-32603)
          expect(error.data).to.include({ reason })
          expect(error.data?.hint).to.be.a('string').and.not.equal('')
        }
      })
    },
  ],
  [
    'it is never pushed: subscribing is accepted, and nothing comes of reads',
    () =>
      showing(new MemoryBackend(), ({ session, server }) =>
        listening(session, [uri, 'scene://current'], async events => {
          await pictureOf(session, uri)
          server.resources().setScene({})
          await events.until(() => events.updates.length > 0)
          expect(events.updates).to.deep.equal(['scene://current'])
        }),
      ),
  ],
])

facts('decision: capture://current_window{?max_width}', [
  [
    'the template is there exactly while the resource is',
    async () => {
      await showing(new MemoryBackend(), async ({ session }) => {
        expect(await templatesOf(session)).to.include(template)
      })
      await serving(async ({ session }) => {
        expect(await templatesOf(session)).not.to.include(template)
      })
    },
  ],
  [
    '`max_width` scales down, never up; unknown parameters are ignored; the URI is echoed',
    () =>
      showing(new MemoryBackend(), async ({ session }) => {
        for (const [query, size] of [
          ['max_width=10', [10, 5]],
          ['max_width=8192', [40, 20]],
          ['other=1', [40, 20]],
        ] as const) {
          const content = await pictureOf(session, `${uri}?${query}`)
          expect(content.uri).to.equal(`${uri}?${query}`)
          expect(sizeOf(content.blob), query).to.deep.equal(size)
        }
      }),
  ],
  [
    'any other `max_width` is −32602, and so is one that is given twice',
    () =>
      showing(new MemoryBackend(), async ({ session }) => {
        for (const query of [
          'max_width=0',
          'max_width=8193',
          'max_width=-1',
          'max_width=1.5',
          'max_width=',
          'max_width=wide',
          'max_width=1e3',
          'max_width=99999999999999999999',
          'max_width=10&max_width=20',
        ]) {
          expect(await readCode(session, `${uri}?${query}`), query).to.equal(-32602)
        }
      }),
  ],
  [
    '`completion/complete` knows widths worth asking for',
    () =>
      showing(new MemoryBackend(), async ({ session }) => {
        const ref = { type: 'ref/resource', uri: template }
        const argument = { name: 'max_width', value: '1' }
        const { result } = await session.call('completion/complete', { ref, argument })
        expect(result.completion.values).to.deep.equal(['1024', '1600'])
      }),
  ],
  [
    'in revision 2026-07-28 it is listed, read and refused in the same way',
    () => {
      const backend = new MemoryBackend()
      return showing(backend, async ({ url }) => {
        const { json: listed } = await callStateless(url, 'resources/list')
        expect(listed.result.resources.map((each: any) => each.uri)).to.include(uri)
        const { json: read } = await callStateless(url, 'resources/read', { uri })
        expect(sizeOf(read.result.contents[0].blob)).to.deep.equal([40, 20])
        backend.failure = 'covered'
        // Of another width: the picture just taken is kept for a moment.
        const of = `${uri}?max_width=7`
        const { json: failed } = await callStateless(url, 'resources/read', { uri: of })
        expect(failed.error).to.deep.include({ code: -32603 })
        expect(failed.error.data).to.include({ reason: 'covered' })
      })
    },
  ],
])

facts('decision: scheme known, no window to capture', [
  [
    'not listed; −32002 with why and what to do, −32602 in revision 2026-07-28',
    () => {
      const backend = new MemoryBackend()
      backend.state = fail(noDisplay)
      return showing(backend, async ({ session, url }) => {
        expect(await listedUris(session)).not.to.include(uri)
        expect(await templatesOf(session)).not.to.include(template)
        const error = await failure(session, 'resources/read', { uri })
        expect(error).to.deep.include({ code: -32002 })
        expect(error.data).to.deep.equal({
          uri,
          hint: 'there is no display; start it in a desktop session',
        })
        const { json } = await callStateless(url, 'resources/read', { uri })
        expect(json.error).to.deep.include({ code: -32602 })
        expect(json.error.data).to.include({ uri })
        expect(backend.takings).to.deep.equal([])
      })
    },
  ],
  [
    'another URI of the scheme is not found, window or not',
    () =>
      showing(new MemoryBackend(), async ({ session }) => {
        for (const other of ['capture://desktop', 'capture://current_window/1', 'capture:x']) {
          const error = await failure(session, 'resources/read', { uri: other })
          expect(error, other).to.deep.include({ code: -32002, data: { uri: other } })
        }
      }),
  ],
  [
    'list_changed when it comes and when it goes, to clients of both transports',
    () => {
      const window = windowOf(new MemoryBackend())
      return serving(
        async ({ session, url }) => {
          const statelessEvents = await listenStateless(url, { resourcesListChanged: true })
          await listening(session, [], async sessionEvents => {
            const told = (count: number) =>
              Promise.all(
                [sessionEvents, statelessEvents].map(events =>
                  events.until(
                    () =>
                      events.messages.filter(each => each.method === listChanged).length >= count,
                  ),
                ),
              )
            window.aim(ok({ pid: process.pid, title: null }))
            await told(1)
            expect(await listedUris(session)).to.include(uri)
            expect(await templatesOf(session)).to.include(template)
            window.aim(fail(noApplication))
            await told(2)
            expect(await listedUris(session)).not.to.include(uri)
            expect(await templatesOf(session)).not.to.include(template)
          })
          statelessEvents.close()
        },
        { limits: { listChangedIntervalMs: 20 } },
        () => {},
        { captureSource: window },
      ).finally(() => window.close())
    },
  ],
])
