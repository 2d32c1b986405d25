import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import type { Listed } from './client-face.ts'
import { type Outcome, runClient, runOwn } from './run-program.ts'
import { type Serving, startServe } from './serve.ts'

const key = 'an-api-key-of-thirty-two-characters'

/** What `mcp-config` prints or writes, given to the programs that it is for. */
describe('the settings that mcp-config makes', function () {
  this.timeout(120_000)
  let folder: string
  let home: string
  let open: Serving
  let keyed: Serving
  let homes = 0

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'service-cli-settings-'))
    const keyFile = join(folder, 'key')
    await writeFile(keyFile, key, { mode: 0o600 })
    const [first, second] = ['open', 'keyed'].map(name => join(folder, name)) as [string, string]
    await mkdir(first, { mode: 0o700 })
    await mkdir(second, { mode: 0o700 })
    open = await startServe(first, ['--dcc-type', 'blender'])
    keyed = await startServe(second, ['--dcc-type', 'maya', '--api-key-file', keyFile])
  })
  beforeEach(async () => {
    home = join(folder, `home-${++homes}`)
    await mkdir(home, { mode: 0o700 })
  })
  after(async () => {
    const codes = [await open?.stop(), await keyed?.stop()]
    await rm(folder, { recursive: true, force: true })
    expect(codes).to.deep.equal([0, 0])
  })

  const config = (args: string[], server: 'open' | 'keyed' = 'open') =>
    runOwn(['mcp-config', ...args, '--registry-dir', join(folder, server)], { home })
  const env = { SERVICE_MCP_API_KEY: key, MCP_INSPECTOR_SECRET_STORE: 'memory' }
  const client = (program: string, ...args: string[]) => runClient(program, args, { home, env })
  const inspect = (...args: string[]) =>
    client('mcp-inspector', '--cli', '--quiet', '--stored-auth-only', ...args)

  const lists = ({ code, stdout, stderr }: Outcome) => {
    expect(code, stderr).to.equal(0)
    const { resources } = JSON.parse(stdout) as Listed
    expect(resources.map(({ uri }) => uri)).to.include('scene://current')
  }
  const done = ({ code, stdout, stderr }: Outcome): string => {
    expect(code, stderr).to.equal(0)
    return stdout
  }

  it('lead mcporter to the server, as they are printed', async () => {
    await writeFile(join(home, 'm.json'), done(await config(['mcporter'])))
    lists(await client('mcporter', '--config', 'm.json', 'resource', 'blender', '--json'))
  })

  for (const scope of ['user', 'project']) {
    it(`lead mcporter to a server with a key, written for the ${scope}`, async () => {
      done(await config(['mcporter', '--write', '--scope', scope], 'keyed'))
      lists(await client('mcporter', 'resource', 'maya', '--json', '--no-oauth'))
    })
  }

  it('stand beside an entry that mcporter was given before', async () => {
    const before = `{\n  // kept\n  "mcpServers": { "old": { "url": "${open.url}" } },\n  "imports": []\n}\n`
    await mkdir(join(home, 'config'))
    const file = join(home, 'config', 'mcporter.json')
    await writeFile(file, before)
    done(await config(['mcporter', '--write', '--scope', 'project', '--name', 'new']))
    expect(await readFile(file, 'utf8')).to.include('// kept')
    lists(await client('mcporter', 'resource', 'old', '--json'))
    lists(await client('mcporter', 'resource', 'new', '--json'))
  })

  it('lead the Inspector to the server, as they are printed', async () => {
    await writeFile(join(home, 'i.json'), done(await config(['inspector'])))
    const chosen = ['--config', 'i.json', '--server', 'blender', '--method', 'resources/list']
    for (const era of ['legacy', 'auto', 'modern']) {
      lists(await inspect(...chosen, '--protocol-era', era))
    }
  })

  it('lead the Inspector to a server with a key, which it is given beside them', async () => {
    done(await config(['inspector', '--write', '--auth', 'none'], 'keyed'))
    const chosen = ['--server', 'maya', '--method', 'resources/list']
    lists(await inspect(...chosen, '--header', `Authorization: Bearer ${key}`))
    // In the stateless transport it shows its own words, and not those of the server.
    const said = { legacy: 'send it as Authorization: Bearer <key>', modern: 'HTTP 401' }
    for (const [era, words] of Object.entries(said)) {
      const { code, stderr } = await inspect(...chosen, '--protocol-era', era)
      expect(code).not.to.equal(0)
      const { error } = JSON.parse(stderr)
      expect(error.code).to.equal('auth_required')
      expect(error.message).to.contain(words)
    }
    const wrong = await inspect(...chosen, '--header', 'Authorization: Bearer another')
    expect(JSON.parse(wrong.stderr).error.code).to.equal('auth_required')
  })

  it('let mcporter say what is missing at a server with a key', async () => {
    const mcpServers = { maya: { url: keyed.url } }
    await writeFile(join(home, 'm.json'), JSON.stringify({ mcpServers, imports: [] }))
    const args = ['--config', 'm.json', 'resource', 'maya', 'scene://current']
    const { code, stdout, stderr } = await client('mcporter', ...args)
    expect(code).not.to.equal(0)
    const missing = 'if this server asks for a key, send it as "Authorization: Bearer <key>"'
    expect(stdout + stderr)
      .to.contain(missing)
      .and.not.to.contain('Raw body')
    const { stdout: listed } = await client('mcporter', '--config', 'm.json', 'list', '--json')
    expect(JSON.parse(listed).servers[0]).to.include({ name: 'maya', status: 'auth' })
    expect(keyed.log()).not.to.contain(key)
  })

  it('let mcporter start the bridge, which has the key of its environment', async () => {
    done(await config(['mcporter', '--write', '--stdio']))
    done(await config(['mcporter', '--write', '--stdio'], 'keyed'))
    lists(await client('mcporter', 'resource', 'blender', '--json'))
    lists(await client('mcporter', 'resource', 'maya', '--json'))
  })

  it('let the Inspector start the bridge, which reads the key from a file', async () => {
    done(await config(['inspector', '--write', '--stdio']))
    const keyFile = ['--api-key-file', join(folder, 'key')]
    done(await config(['inspector', '--write', '--stdio', ...keyFile], 'keyed'))
    lists(await inspect('--server', 'blender', '--method', 'resources/list'))
    lists(await inspect('--server', 'maya', '--method', 'resources/list'))
  })
})
