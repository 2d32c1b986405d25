import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { expect } from 'chai'
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { until } from '../helpers/until.ts'
import {
  type InstalledAddon,
  type Remote,
  background,
  hasPrograms,
  installAddon,
  startRemote,
} from '../helpers/blender.ts'
import { skipBecause } from '../helpers/skip.ts'

const waitMs = 30_000
const dev = fileURLToPath(new URL('../../bin/dev.js', import.meta.url))

describe('the buttons of the Blender add-on, without a terminal', function () {
  this.timeout(120_000)
  let addon: InstalledAddon
  let blender: Remote
  let start: () => Promise<Remote>
  let registryDir: string
  let program: string

  before(async function () {
    if (!hasPrograms('blender')) skipBecause(this, 'blender is not installed')
    addon = await installAddon()
    registryDir = join(addon.folder, 'registry')
    await mkdir(registryDir, { mode: 0o700 })
    program = join(addon.folder, 'service-cli')
    const words = `"${process.execPath}" "${dev}"`
    // As on a machine where no other server has the default port.
    const script = `#!/bin/sh\n[ "$1" = serve ] && set -- "$@" --port 0\nexec ${words} "$@"\n`
    await writeFile(program, script, { mode: 0o700 })
    const env = { SERVICE_REGISTRY_DIR: registryDir }
    start = () => startRemote(addon, { args: background, env })
    blender = await start()
  })
  after(async () => {
    await blender?.quit()
    await addon?.remove()
  })

  const records = async () => {
    const folder = join(registryDir, 'instances')
    const names = await readdir(folder).catch(() => [])
    const texts = names.filter(name => name.endsWith('.json')).map(name => join(folder, name))
    return Promise.all(texts.map(async path => JSON.parse(await readFile(path, 'utf8'))))
  }
  const note = async (): Promise<string> => (await blender.ask('clients')).note

  it('say what is wrong with the program', async () => {
    await blender.tell('connect')
    await blender.tell('start_server /nowhere/service-cli')
    expect(await note()).to.equal('there is no file /nowhere/service-cli')
    expect(await blender.ask('is_connected')).to.equal(false)
  })

  it('say that a server has ended, and what to press', async () => {
    await blender.tell('start_server /bin/false')
    const failure = async () => (await blender.ask('clients')).failure
    const said = 'The server has ended: it said nothing. Press Start Server.'
    await until(async () => (await failure()) === said, 'the end', waitMs)
  })

  it('start a server and connect to it', async () => {
    await blender.tell(`start_server ${program}`)
    await until(() => blender.ask('is_connected'), 'the link', waitMs)
    expect(await records()).to.have.length(1)
  })

  it('write the entry of mcp-config into the settings of an AI', async () => {
    await blender.tell('set_up cursor')
    const file = join(addon.folder, '.cursor', 'mcp.json')
    expect(await note()).to.equal(`Added to Cursor, in ${file}. Restart it if it runs.`)
    const [record] = await records()
    const { mcpServers } = JSON.parse(await readFile(file, 'utf8'))
    expect(mcpServers).to.deep.equal({ blender: { url: record.mcp_url } })
  })

  it('leave it to the panel to show which AI reads what', async () => {
    const [record] = await records()
    const client = new Client({ name: 'claude-ai', version: '1' })
    await client.connect(new StreamableHTTPClientTransport(new URL(record.mcp_url)))
    await client.readResource({ uri: 'scene://current' })
    const lines = async () => JSON.stringify((await blender.ask('clients')).lines)
    const isShown = async () => /\["claude-ai","\d\d:\d\d scene:\/\/current"/.test(await lines())
    await until(isShown, 'the client and what it read', waitMs)
    await client.close()
  })

  it('leave no server behind when Blender has quit', async () => {
    await blender.quit()
    await until(async () => (await records()).length === 0, 'the end of the server', waitMs)
  })

  it('leave none behind when Blender is killed', async () => {
    blender = await start()
    await blender.tell('connect')
    await blender.tell(`start_server ${program}`)
    await until(() => blender.ask('is_connected'), 'the link', waitMs)
    await blender.tell('factory_settings')
    blender.run.child.kill('SIGKILL')
    await until(async () => (await records()).length === 0, 'the end of the server', waitMs)
  })
})
