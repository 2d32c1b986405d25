import { expect } from 'chai'
import { randomBytes } from 'node:crypto'
import { createServer } from 'node:http'
import { createFsStore } from '../../../src/server/artefacts/fs-store.ts'
import {
  artefactGetBytes,
  artefactList,
  artefactPutBytes,
  artefactPutFile,
} from '../../../src/server/artefacts/helpers.ts'
import { apiKeyPolicy } from '../../../src/server/http/authentication.ts'
import { McpHttpServer } from '../../../src/server/mcp/mcp-http-server.ts'
import { failureOf } from '../../helpers/failure.ts'
import { withFolder } from '../../helpers/folder.ts'
import { ask, startServer } from '../../helpers/mcp.ts'
import { recordingLog } from '../../helpers/recording-log.ts'

describe('McpHttpServer', () => {
  const wrong: [object, string][] = [
    [{ enableArtifactResources: true }, 'did you mean "enableArtefactResources"?'],
    [{ somethingElse: 1 }, 'unknown member of McpHttpConfig "somethingElse"'],
    [{ limits: { maxSesions: 5 } }, 'unknown limit "maxSesions"; did you mean "maxSessions"?'],
    [{ host: ' ' }, 'host must not be empty'],
    [{ port: 65_536 }, 'port must be a whole number from 0 to 65535, not 65536'],
    [{ port: 80.5 }, 'not 80.5'],
    [{ port: '8765' }, 'not 8765'],
  ]
  for (const [config, message] of wrong) {
    it(`refuses ${JSON.stringify(config)}`, () => {
      expect(() => new McpHttpServer(config)).to.throw(TypeError, message)
    })
  }

  it('takes undefined for a member that is not given, also an unknown one', () => {
    const config: object = { host: undefined, port: undefined, enableArtifactResources: undefined }
    expect(new McpHttpServer(config)).to.be.an.instanceof(McpHttpServer)
  })

  it('starts once, or is mounted once in a server of the host', async () => {
    const started = new McpHttpServer()
    await started.start()
    expect(() => started.requestListener()).to.throw('is served once')
    await started.stop()
    expect(() => started.requestListener()).to.throw('the server is stopped')

    const mounted = new McpHttpServer()
    const http = createServer(mounted.requestListener())
    expect(() => mounted.requestListener()).to.throw('is served once')
    const failure = await mounted.start().catch((error: Error) => error.message)
    expect(failure).to.contain('is served once')
    await mounted.stop()
    http.close()
  })

  it('warns of an address beyond this machine without authentication', async () => {
    /** What it warns of on the way to binding an address that no machine has. */
    const warned = async (host: string, parts = {}) => {
      const { lines, ...log } = recordingLog()
      const server = new McpHttpServer({ host }, { log, ...parts })
      await server.start().catch(() => {})
      await server.stop()
      return lines.filter(({ level }) => level === 'warn').map(({ text }) => text)
    }
    expect((await warned('192.0.2.1')).join()).to.contain('no authentication')
    expect(await warned('192.0.2.1', { auth: apiKeyPolicy('a-long-enough-key') })).to.deep.equal([])
    expect(await warned('127.0.0.1')).to.deep.equal([])
  })

  it('answers 404 for every artefact where resources are off', () =>
    withFolder(async root => {
      const store = await createFsStore({ root })
      const { ref } = await store.put(randomBytes(100))
      const path = `/artefacts/sha256/${ref.digest.slice('sha256:'.length)}`
      for (const [enableResources, status] of [
        [true, 200],
        [false, 404],
      ] as const) {
        const config = { enableArtefactResources: true, enableResources }
        const running = await startServer(config, { store })
        const answer = await ask(new URL(path, running.url).href)
        expect([enableResources, answer.status]).to.deep.equal([enableResources, status])
        await running.stop()
      }
      await store.close()
    }))
})

describe('options of artefacts', () => {
  it('name the nearest known one when they are unknown', () =>
    withFolder(async root => {
      const uri = `artefact://sha256/${'0'.repeat(64)}`
      const options: object = { root, display_name: 'x' }
      const filter: object = { root, session_id: 's' }
      const calls: [() => Promise<unknown>, string][] = [
        [() => artefactPutBytes(randomBytes(5), options), 'displayName'],
        [() => artefactPutFile(process.execPath, options), 'displayName'],
        [() => artefactList(filter), 'sessionId'],
        [() => artefactGetBytes(uri, { rot: root } as {}), 'root'],
      ]
      for (const [call, meant] of calls) {
        const failure = await failureOf(call)
        expect(failure.code).to.equal('body_invalid')
        expect(failure.message).to.contain(`did you mean "${meant}"?`)
      }
      expect(await artefactList({ root })).to.deep.equal([])
    }))
})
