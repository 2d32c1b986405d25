import { expect } from 'chai'
import { randomBytes } from 'node:crypto'
import { createServer } from 'node:http'
import { McpHttpServer } from '../../src/server/mcp-http-server.ts'
import { ServiceError } from '../../src/lib/util/errors.ts'
import { newFolder } from '../helpers/cleanup.ts'
import { ask, startServer } from '../helpers/mcp.ts'
import { openFolder } from '../unit/artefacts/support.ts'

describe('McpHttpServer', () => {
  const wrong: [object, string][] = [
    [{ limits: { maxSesions: 5 } }, 'unknown limit "maxSesions"'],
    [{ host: ' ' }, 'host must not be empty'],
  ]
  for (const [config, message] of wrong) {
    it(`refuses ${JSON.stringify(config)}`, () => {
      expect(() => new McpHttpServer(config)).to.throw(TypeError, message)
    })
  }

  it('starts once, or is mounted once in a server of the host', async () => {
    const started = new McpHttpServer()
    await started.start()
    expect(() => started.requestListener()).to.throw('is served once')
    await started.stop()
    expect(() => started.requestListener()).to.throw('is served once')

    const mounted = new McpHttpServer()
    const http = createServer(mounted.requestListener())
    expect(() => mounted.requestListener()).to.throw('is served once')
    const failure = await mounted.start().catch((error: unknown) => error)
    expect(failure).to.be.instanceOf(ServiceError).with.property('code', 'usage_invalid')
    await mounted.stop()
    http.close()
  })

  it('answers 404 for every artefact where resources are off', async () => {
    const root = newFolder()
    const store = await openFolder(root)
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
  })
})
