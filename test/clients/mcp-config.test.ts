import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import type { Listed } from './client-face.ts'
import { type Outcome, runClient, runOwn } from './run-program.ts'
import { type Serving, startServe } from './serve.ts'
import { newFolder } from '../helpers/cleanup.ts'

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
    folder = newFolder()
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
    expect(codes).to.deep.equal([0, 0])
  })

  const printed = (args: string[], server: 'open' | 'keyed' = 'open') =>
    runOwn(['mcp-config', 'generic', ...args, '--registry-dir', join(folder, server)], { home })
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

  it('lead mcporter to the server, with a key and without, as they are printed', async () => {
    const config = async (server: 'open' | 'keyed') =>
      writeFile(join(home, 'm.json'), done(await printed([], server)))
    await config('open')
    lists(await client('mcporter', '--config', 'm.json', 'resource', 'blender', '--json'))
    await config('keyed')
    lists(
      await client('mcporter', '--config', 'm.json', 'resource', 'maya', '--json', '--no-oauth'),
    )
  })

  it('lead the Inspector to the server in all of its modes, as they are printed', async () => {
    await writeFile(join(home, 'i.json'), done(await printed([])))
    const chosen = ['--config', 'i.json', '--server', 'blender', '--method', 'resources/list']
    for (const era of ['legacy', 'auto', 'modern']) {
      lists(await inspect(...chosen, '--protocol-era', era))
    }
  })

  it('let mcporter start the bridge, which has the key of its environment', async () => {
    await writeFile(join(home, 'm.json'), done(await printed(['--stdio'], 'keyed')))
    lists(await client('mcporter', '--config', 'm.json', 'resource', 'maya', '--json'))
  })

  it('let the Inspector start the bridge, which reads the key from a file', async () => {
    const keyFile = ['--api-key-file', join(folder, 'key')]
    await writeFile(join(home, 'i.json'), done(await printed(['--stdio', ...keyFile], 'keyed')))
    const chosen = ['--config', 'i.json', '--server', 'maya', '--method', 'resources/list']
    lists(await inspect(...chosen))
  })
})
