import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import type { Listed, ReadResult } from './client-face.ts'
import { type Outcome, runClient } from './run-program.ts'
import { type Serving, startServe } from './serve.ts'

const key = 'an-api-key-of-thirty-two-characters'
const header = `Authorization: Bearer ${key}`
const scene = 'scene://current'

describe('programs that speak MCP, at a server with a key', function () {
  this.timeout(120_000)
  let home: string
  let serving: Serving

  before(async () => {
    home = await mkdtemp(join(tmpdir(), 'service-cli-protected-'))
    const registryDir = join(home, 'registry')
    await mkdir(registryDir, { mode: 0o700 })
    await writeFile(join(home, 'key'), key, { mode: 0o600 })
    const flags = ['--dcc-type', 'maya', '--api-key-file', join(home, 'key')]
    serving = await startServe(registryDir, flags)
    await serving.post('scene', { dcc: 'maya' })
  })
  after(async () => {
    const code = await serving?.stop()
    await rm(home, { recursive: true, force: true })
    expect(code).to.equal(0)
  })

  const run = (program: string, args: string[], env: Record<string, string> = {}) =>
    runClient(program, args, { home, env: { MCP_INSPECTOR_SECRET_STORE: 'memory', ...env } })
  const contentsOf = ({ code, stdout, stderr }: Outcome): ReadResult['contents'] => {
    expect(code, stderr).to.equal(0)
    return (JSON.parse(stdout) as ReadResult).contents
  }
  const urisOf = ({ code, stdout, stderr }: Outcome): string[] => {
    expect(code, stderr).to.equal(0)
    return (JSON.parse(stdout) as Listed).resources.map(({ uri }) => uri)
  }

  for (const era of ['legacy', 'auto', 'modern']) {
    describe(`the MCP Inspector with --protocol-era ${era}`, () => {
      const inspect = (...more: string[]) =>
        run('mcp-inspector', [
          '--cli',
          serving.url,
          '--transport',
          'http',
          '--protocol-era',
          era,
          ...more,
        ])

      it('lists and reads with the key in a header', async () => {
        expect(urisOf(await inspect('--method', 'resources/list', '--header', header))).to.include(
          scene,
        )
        const read = ['--method', 'resources/read', '--uri', scene]
        const [content] = contentsOf(await inspect(...read, '--header', header))
        expect(content?.text).to.equal('{"dcc":"maya"}')
      })

      it('says what is missing without it', async () => {
        const { code, stderr } = await inspect('--method', 'resources/list', '--stored-auth-only')
        expect(code).not.to.equal(0)
        const { error } = JSON.parse(stderr)
        expect(error.code).to.equal('auth_required')
        // In the stateless transport it shows its own words, and not those of the server.
        const said = era === 'legacy' ? 'send it as Authorization: Bearer <key>' : 'HTTP 401'
        expect(error.message).to.contain(said)
      })

      it('ends where it would have to log in', async () => {
        const wrong = ['--header', 'Authorization: Bearer another']
        const { code, stderr } = await inspect('--method', 'resources/list', ...wrong)
        expect(code).not.to.equal(0)
        expect(JSON.parse(stderr).error.code).to.equal('auth_required')
      })
    })
  }

  describe('mcporter', () => {
    async function port(headers: object | undefined, args: string[], env = {}): Promise<Outcome> {
      const config = join(home, 'mcporter.json')
      const dcc = { url: serving.url, ...(headers && { headers }) }
      await writeFile(config, JSON.stringify({ mcpServers: { dcc }, imports: [] }))
      return run('mcporter', ['--config', config, ...args], env)
    }
    const fromVariable = { Authorization: 'Bearer ${SERVICE_MCP_API_KEY}' }
    const env = { SERVICE_MCP_API_KEY: key }

    it('lists and reads with the key of a variable in a header', async () => {
      const listed = await port(fromVariable, ['resource', 'dcc', '--json', '--no-oauth'], env)
      expect(urisOf(listed)).to.include(scene)
      const read = ['resource', 'dcc', scene, '--output', 'text', '--no-oauth']
      const { code, stdout } = await port(fromVariable, read, env)
      expect([code, JSON.parse(stdout)]).to.deep.equal([0, { dcc: 'maya' }])
      expect(serving.log()).not.to.contain(key)
    })

    it('says what is missing without it', async () => {
      const { code, stdout, stderr } = await port(undefined, ['resource', 'dcc', scene])
      expect(code).not.to.equal(0)
      const missing = 'if this server asks for a key, send it as "Authorization: Bearer <key>"'
      expect(stdout + stderr)
        .to.contain(missing)
        .and.not.to.contain('Raw body')
    })

    it('names the status where it is told not to log in, and in its list', async () => {
      const args = ['resource', 'dcc', scene, '--no-oauth']
      const wrong = await port({ Authorization: 'Bearer another' }, args)
      expect(wrong.code).not.to.equal(0)
      expect(wrong.stderr).to.contain('401')
      const { stdout } = await port(undefined, ['list', '--json'])
      expect(JSON.parse(stdout).servers[0]).to.include({ name: 'dcc', status: 'auth' })
    })
  })
})
