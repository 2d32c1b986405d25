import { expect } from 'chai'
import { artefactPutBytes, AuditLog } from '../../src/index.ts'
import type { RawSession } from '../helpers/mcp.ts'
import { facts, failure, inFolder, listAll, listening, serving } from './facts.ts'

async function contentOf(session: RawSession, uri: string): Promise<any> {
  const { result } = await session.call('resources/read', { uri })
  expect(result.contents).to.have.length(1)
  return result.contents[0]
}

function recorded(count: number): AuditLog {
  const log = new AuditLog()
  for (let n = 1; n <= count; n++) log.record({ action: `step.${n}` })
  return log
}

facts('specification: Resource descriptor and content item', [
  [
    'every descriptor has uri and name as strings, description and MIME type only as strings',
    () =>
      serving(async ({ session }) => {
        const all = await listAll(session)
        expect(all).not.to.have.length(0)
        for (const { uri, name, description, mimeType } of all) {
          expect(uri).to.match(/^[a-z]+:\/\//)
          expect(name).to.be.a('string').and.not.equal('')
          for (const text of [description, mimeType]) expect(typeof text).to.match(/string|undef/)
        }
      }),
  ],
  [
    'a JSON resource is read as uri, MIME type and a text that is JSON',
    () =>
      serving(async ({ session, server }) => {
        server.resources().setScene({ frame: 24 })
        const content = await contentOf(session, 'scene://current')
        expect(content).to.include.all.keys('uri', 'mimeType', 'text')
        expect(content).to.include({ uri: 'scene://current', mimeType: 'application/json' })
        expect(JSON.parse(content.text)).to.deep.equal({ frame: 24 })
      }),
  ],
])

facts('specification: Built-in resources, scene://current', [
  [
    'it is listed as application/json',
    () =>
      serving(async ({ session }) => {
        const scene = (await listAll(session)).find(each => each.uri === 'scene://current')
        expect(scene).to.include({ mimeType: 'application/json' })
      }),
  ],
  [
    'without a scene it is a placeholder with status no_snapshot',
    () =>
      serving(async ({ session }) => {
        expect(await session.readJson('scene://current')).to.include({ status: 'no_snapshot' })
      }),
  ],
  [
    'setScene gives the snapshot, whatever its members are',
    () =>
      serving(async ({ session, server }) => {
        const scene = { objects: [{ id: 'Cube', at: [0, 1.5, -2] }], name: 'Szene „1“', empty: {} }
        server.resources().setScene(scene)
        expect(await session.readJson('scene://current')).to.deep.equal(scene)
      }),
  ],
])

facts('specification: Built-in resources, audit://recent', [
  [
    'it is listed as application/json',
    () =>
      serving(async ({ session }) => {
        const audit = (await listAll(session)).find(each => each.uri === 'audit://recent')
        expect(audit).to.include({ mimeType: 'application/json' })
      }),
  ],
  [
    'it is the tail of the log: 50 entries by default',
    () =>
      serving(
        async ({ session }) => {
          const { entries } = await session.readJson('audit://recent')
          expect(entries).to.have.length(50)
          expect(entries.at(-1).action).to.equal('step.600')
        },
        {},
        server => server.resources().wireAuditLog(recorded(600)),
      ),
  ],
  [
    '`limit` asks for more or fewer, at most 500',
    () =>
      serving(
        async ({ session }) => {
          for (const [limit, count] of [
            [1, 1],
            [120, 120],
            [500, 500],
            [501, 500],
            [100_000, 500],
          ]) {
            const { entries } = await session.readJson(`audit://recent?limit=${limit}`)
            expect(entries, String(limit)).to.have.length(Number(count))
            expect(entries.at(-1).action).to.equal('step.600')
          }
        },
        {},
        server => server.resources().wireAuditLog(recorded(600)),
      ),
  ],
])

facts('specification: Built-in resources, notifications', [
  [
    'setScene sends one, each record of the wired log sends one, and artefacts never do',
    () =>
      inFolder(folder => {
        const log = new AuditLog()
        return serving(
          async ({ session, server }) => {
            const root = `${folder}/dcc-mcp-artefacts`
            const { uri } = await artefactPutBytes(Buffer.from('a'), { root })
            await listening(session, ['scene://current', 'audit://recent', uri], async events => {
              await artefactPutBytes(Buffer.from('a'), { root, displayName: 'renamed' })
              server.resources().setScene({})
              log.record({ action: 'save' })
              await events.until(() => events.updates.includes('audit://recent'))
              expect(events.updates).to.deep.equal(['scene://current', 'audit://recent'])
            })
          },
          { registryDir: folder, enableArtefactResources: true },
          server => server.resources().wireAuditLog(log),
        )
      }),
  ],
])

facts('specification: Built-in resources, rules', [
  [
    'rule 1: without a capture backend capture://current_window is not listed, and not enabled',
    () =>
      serving(async ({ session }) => {
        const uris = (await listAll(session)).map(each => each.uri)
        expect(uris.filter(uri => uri.startsWith('capture:'))).to.deep.equal([])
        const { code } = await failure(session, 'resources/read', {
          uri: 'capture://current_window',
        })
        expect(code).to.equal(-32002)
      }),
  ],
  [
    'rule 2: artefact:// is served only when it is switched on',
    () =>
      inFolder(async folder => {
        const root = `${folder}/dcc-mcp-artefacts`
        const { uri } = await artefactPutBytes(Buffer.from('x'), { root })
        await serving(
          async ({ session }) => {
            const uris = (await listAll(session)).map(each => each.uri)
            expect(uris.filter(each => each.startsWith('artefact:'))).to.deep.equal([])
            expect((await failure(session, 'resources/read', { uri })).code).to.equal(-32002)
          },
          { registryDir: folder },
        )
        await serving(
          async ({ session }) => {
            const { result } = await session.call('resources/read', { uri })
            expect(result.contents[0].blob).to.equal('eA==')
          },
          { registryDir: folder, enableArtefactResources: true },
        )
      }),
  ],
])
