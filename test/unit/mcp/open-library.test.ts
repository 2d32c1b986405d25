import { expect } from 'chai'
import { apiKeyPolicy, McpHttpServer } from '../../../src/index.ts'
import { type Logger, silentLogger } from '../../../src/lib/util/logger.ts'

describe('McpHttpServer on an address that is not of this machine alone', () => {
  /** What it warns of on the way to binding an address that no machine has. */
  async function warned(host: string, auth?: ReturnType<typeof apiKeyPolicy>): Promise<string[]> {
    const warnings: string[] = []
    const log: Logger = {
      ...silentLogger,
      warn: (_fields, message) => void warnings.push(message ?? ''),
    }
    const server = new McpHttpServer({ host }, { log, ...(auth !== undefined && { auth }) })
    await server.start().catch(() => {})
    await server.stop()
    return warnings
  }

  it('warns without authentication', async () => {
    expect((await warned('192.0.2.1')).join()).to.contain('no authentication')
  })

  it('says nothing with it, nor on a loopback address', async () => {
    expect(await warned('192.0.2.1', apiKeyPolicy('a-long-enough-key'))).to.deep.equal([])
    expect(await warned('127.0.0.1')).to.deep.equal([])
  })
})
