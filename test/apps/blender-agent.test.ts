import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { expect } from 'chai'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { type Serving, startServe } from '../clients/serve.ts'
import { until } from '../helpers/until.ts'
import { hasPrograms, installAddon, type InstalledAddon } from '../helpers/blender-addon.ts'
import { blenderModes } from '../helpers/blender-modes.ts'
import { type Remote, startRemote } from '../helpers/blender-remote.ts'
import { skipBecause } from '../helpers/skip.ts'
import { toolCall } from '../helpers/mcp.ts'

const gui = blenderModes.find(({ mode }) => mode === 'gui')!

describe('an agent that only uses tools, with Blender', function () {
  this.timeout(120_000)
  let addon: InstalledAddon
  let serving: Serving
  let client: Client
  let blender: Remote

  before(async function () {
    if (!hasPrograms(...gui.needs)) {
      skipBecause(this, `one of ${gui.needs.join(', ')} is not installed`)
    }
    addon = await installAddon()
    const registryDir = join(addon.folder, 'registry')
    await mkdir(registryDir, { mode: 0o700 })
    serving = await startServe(registryDir, ['--dcc-type', 'blender'])
    client = new Client({ name: 'agent', version: '1' })
    await client.connect(new StreamableHTTPClientTransport(new URL(serving.url)))
    const env = { SERVICE_REGISTRY_DIR: registryDir, LIBGL_ALWAYS_SOFTWARE: '1' }
    blender = await startRemote(addon, { args: gui.args, env, command: [...gui.command] })
    await blender.tell('connect')
    await until(async () => (await call('query_scene')).data.schema === 'dcc-scene/1', 'the scene')
  })
  after(async () => {
    await blender?.quit()
    await client?.close()
    await serving?.stop()
    await addon?.remove()
  })

  async function call(name: string, args: Record<string, unknown> = {}) {
    const { content, structuredContent, isError } = (await client.callTool(
      toolCall(name, args) as never,
    )) as any
    return { content, text: String(content[0].text), data: structuredContent ?? {}, isError }
  }

  /** Until the scene stands still: Blender sends it a little after a change. */
  async function settled(): Promise<number> {
    let { revision } = (await call('query_scene')).data
    for (;;) {
      const next = await call('wait_for_change', { since: revision, timeout_s: 2 })
      if (next.data.changed === false) return revision
      revision = next.data.revision
    }
  }

  it('waits, is woken by the artist, reads what changed, looks, and waits again', async () => {
    const since = await settled()
    const waiting = call('wait_for_change', { since })
    await blender.tell('move')
    const woken = await waiting
    expect(woken.data).to.include({ changed: true })
    expect(woken.text).to.contain('Cube moved 1.00 along x')

    const changes = await call('scene_changes', { since })
    expect(changes.text).to.contain('Cube moved 1.00 along x')
    const { items } = (await call('query_scene', { ids: ['Cube'], fields: ['translate'] })).data
    expect(items).to.deep.equal([{ id: 'Cube', translate: [1, 0, 0] }])

    const { content } = await call('look', { max_width: 320 })
    expect(content[0]).to.include({ type: 'image', mimeType: 'image/png' })
    expect(content[1].text).to.match(/^window, 320 × \d+ pixels, scene revision \d+$/)

    const again = call('wait_for_change', { since: await settled() })
    await blender.tell('rename')
    expect((await again).text).to.contain('Hero')
  })

  it('hears what changed in an object that the scene does not show', async () => {
    const uri = 'blender-object://Light'
    await settled()
    const [{ text }] = (await call('read_resource', { uri })).content
    expect(JSON.parse(text).data).to.include({ energy: 1000 })
    let told = ''
    // A change that comes before the call has looked at the object is told without words.
    for (const energy of [10, 20, 30, 40, 50]) {
      const waiting = call('wait_for_change', { uris: [uri] })
      await call('read_resource', { uri })
      await blender.tell(`dim ${energy}`)
      told = (await waiting).text
      if (told.includes('\n- ')) break
    }
    expect(told).to.match(
      /^changed: blender-object:\/\/Light \(read_resource has it\)\n- Light data\.energy \d+ → \d+\ngo on with since=\d+$/,
    )
  })

  it('is told when Blender goes', async () => {
    const waiting = call('wait_for_change', { since: await settled() })
    await blender.tell('disconnect')
    expect((await waiting).data).to.include({ changed: true })
    expect((await call('query_scene')).data).to.include({ status: 'no_snapshot' })
  })
})
