import { expect } from 'chai'
import { type ResourceProducer, artefactPutBytes } from '../../../src/index.ts'
import { rpc } from '../../helpers/mcp.ts'
import { facts, failure, inFolder, readCode, serving } from '../facts.ts'

const scene = 'scene://current'

const notes: ResourceProducer = {
  scheme: 'notes',
  list: () => [],
  read: uri => [
    { uri, mimeType: 'text/plain', text: 'note' },
    { uri, mimeType: 'application/octet-stream', blob: Uint8Array.of(255) },
  ],
}

facts('decision: descriptor and content keys', [
  [
    'mimeType, text, and blob as base64 with padding',
    () =>
      serving(
        async ({ session }) => {
          const { result } = await session.call('resources/read', { uri: 'notes://n' })
          expect(result.contents).to.deep.equal([
            { uri: 'notes://n', mimeType: 'text/plain', text: 'note' },
            { uri: 'notes://n', mimeType: 'application/octet-stream', blob: '/w==' },
          ])
        },
        {},
        server => server.resources().addProducer(notes),
      ),
  ],
  [
    'contents[0].uri echoes the URI as it was requested, query included',
    () =>
      serving(async ({ session }) => {
        for (const uri of [scene, 'scene://delta?since=0', 'audit://recent?limit=3']) {
          const { result } = await session.call('resources/read', { uri })
          expect(result.contents[0].uri).to.equal(uri)
        }
      }),
  ],
])

facts('decision: unknown scheme, unknown URI of a known scheme', [
  [
    '−32002 with data.uri',
    () =>
      serving(async ({ session }) => {
        for (const uri of [
          'nowhere://x',
          'scene://other',
          'audit://all',
          'events://session/none',
          'events://other',
          'capture://desktop',
          'gateway://instances',
          'resources://gateway/events',
          'scene:current',
          'scene://current#part',
        ]) {
          const error = await failure(session, 'resources/read', { uri })
          expect(error, uri).to.deep.include({ code: -32002, data: { uri } })
        }
      }),
  ],
])

const wrongUris: [string, unknown][] = [
  ['missing', undefined],
  ['null', null],
  ['a number', 7],
  ['an object', { href: scene }],
  ['an array', [scene]],
  ['empty', ''],
  ['without a scheme', 'current'],
  ['with a space', 'scene://current x'],
  ['with a line break', 'scene://current\n'],
  ['with a broken escape', 'scene://%zz'],
  ['with an escape that is no UTF-8', 'events://session/%ff'],
  ['with a raw character beyond ASCII', 'events://session/é'],
  ['over 2048 characters', `scene://current?x=${'a'.repeat(2048)}`],
]

facts(
  'decision: wrong uri',
  wrongUris.map(([what, uri]) => [
    `${what}: −32602 and a short message, never a schema dump`,
    () =>
      serving(async ({ session }) => {
        const answer = await session.post(rpc('resources/read', { uri }))
        expect(answer.json.error.code).to.equal(-32602)
        expect(answer.json.error.message).to.match(/^uri /)
        expect(answer.text.length).to.be.below(250)
      }),
  ]),
)

facts('decision: query parameters', [
  [
    'a URI of 2048 characters is still taken',
    () =>
      serving(async ({ session }) => {
        const uri = `audit://recent?x=${'a'.repeat(2048 - 'audit://recent?x='.length)}`
        expect(await session.readJson(uri)).to.include({ count: 0 })
      }),
  ],
  [
    'unknown ones are ignored, except on scene://: −32602 naming the known ones',
    () =>
      serving(async ({ session }) => {
        const uri = 'scene://delta?colour=red'
        const { error } = await session.call('resources/read', { uri })
        expect(error?.code).to.equal(-32602)
        expect(error?.message).to.contain('since')
        expect(await session.readJson('audit://recent?colour=red&limit=2')).to.include({ limit: 2 })
      }),
  ],
  [
    'a repeated one is −32602, in any spelling',
    () =>
      serving(async ({ session }) => {
        for (const query of ['limit=1&limit=2', 'limit=1&%6cimit=1', 'x&x']) {
          expect(await readCode(session, `audit://recent?${query}`), query).to.equal(-32602)
        }
      }),
  ],
  [
    'they are percent-decoded once',
    () =>
      serving(async ({ session }) => {
        expect(await session.readJson('audit://recent?limit=%32')).to.include({ limit: 2 })
        expect(await readCode(session, 'audit://recent?limit=%2532')).to.equal(-32602)
      }),
  ],
  [
    'limit=0 counts as 1',
    () =>
      serving(async ({ session }) => {
        expect(await session.readJson('audit://recent?limit=0')).to.include({ limit: 1 })
      }),
  ],
])

facts('decision: a producer that failed', [
  [
    '−32603 with data.reason; no stack, no path',
    () =>
      serving(
        async ({ session }) => {
          const answer = await session.post(rpc('resources/read', { uri: 'bad://x' }))
          expect(answer.json.error.code).to.equal(-32603)
          expect(answer.json.error.data.reason).to.equal('producer_failed')
          expect(answer.text).not.to.match(/\/etc|boom|at .*\.ts/)
        },
        {},
        server =>
          server
            .resources()
            .addProducer({
              scheme: 'bad',
              list: () => [],
              read: () => Promise.reject(new Error('boom in /etc/passwd')),
            }),
      ),
  ],
])

facts('decision: artefact URIs', [
  [
    'ARTEFACT:// is read like artefact://, under the URI that was asked for',
    () =>
      inFolder(registryDir =>
        serving(
          async ({ session }) => {
            const root = `${registryDir}/dcc-mcp-artefacts`
            const { uri } = await artefactPutBytes(Buffer.from('still'), { root })
            const upper = uri.replace('artefact:', 'ARTEFACT:').replace('sha', '%73ha')
            const { result } = await session.call('resources/read', { uri: upper })
            const blob = Buffer.from('still').toString('base64')
            expect(result.contents[0]).to.include({ uri: upper, blob })
            const missing = `ARTEFACT://sha256/${'0'.repeat(64)}`
            const { code, data } = await failure(session, 'resources/read', { uri: missing })
            expect([code, data?.['uri']]).to.deep.equal([-32002, missing])
          },
          { registryDir, enableArtefactResources: true },
        ),
      ),
  ],
  [
    'a cursor into the artefacts is −32602 where there are none',
    () =>
      serving(async ({ session }) => {
        const cursor = Buffer.from('a').toString('base64url')
        const { code } = await failure(session, 'resources/list', { cursor })
        expect(code).to.equal(-32602)
      }),
  ],
])
