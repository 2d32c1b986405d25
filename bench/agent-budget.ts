/**
 * `node bench/agent-budget.ts`: how many calls and characters an agent needs for the usual questions
 * about a scene, asked of a real server. Scenes of 50 and 2,000 objects come from Blender, one of
 * 10,000 is posted. Ends with 1 when a question needs more than two calls or 6,000 characters.
 */
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type Serving, startServe } from '../test/clients/serve.ts'
import { background, hasPrograms, installAddon } from '../test/helpers/blender-addon.ts'
import { startRemote } from '../test/helpers/blender-remote.ts'

type Ask = (name: string, args?: Record<string, unknown>) => Promise<string>

const maxCalls = 2
const maxChars = 6000

/** Each question, with the calls that a model makes for it and a part of the right answer. */
const questions: readonly [string, (ask: Ask, since: number) => Promise<unknown>, RegExp][] = [
  ['what is selected', ask => ask('query_scene'), /"ids":\["Prop.00002","Prop.00005"\]/],
  [
    'which objects are hidden',
    async ask => {
      await ask('query_scene')
      await ask('query_scene', { where: 'visible:false', fields: ['id'], max_chars: 3000 })
    },
    /"Prop.00007"/,
  ],
  [
    'what changed since I last looked',
    (ask, since) => ask('scene_changes', { since, max_chars: 2500 }),
    /Cube moved 1.00 along x/,
  ],
  [
    'where is the camera',
    ask => ask('query_scene'),
    /"camera":\{"id":"Camera","translate":\[7.*?,-6.*?,4/,
  ],
  [
    'what is wrong with this render setting',
    ask => ask('query_scene', { pointer: '/render' }),
    /"percentage":10,/,
  ],
]

/** A scene of the schema dcc-scene/1 with so many objects; every seventh is hidden. */
function makeScene(count: number, moved: number) {
  const form = { rotate_order: 'xyz', rotate: [0, 0, 0], scale: [1, 1, 1] }
  const objects = Array.from({ length: count - 2 }, (_, at) => {
    const id = `Prop.${String(at + 1).padStart(5, '0')}`
    return {
      ...{ id, name: id, type: at % 20 === 0 ? 'light' : 'mesh', visible: (at + 1) % 7 !== 0 },
      ...{ translate: [at + 1, at % 50, 0], ...form },
    }
  })
  const cube = { id: 'Cube', name: 'Cube', type: 'mesh', translate: [moved, 0, 0], ...form }
  const camera = { id: 'Camera', name: 'Camera', type: 'camera', visible: true }
  const selected = ['Prop.00002', 'Prop.00005']
  return {
    schema: 'dcc-scene/1',
    detail: 'standard',
    dcc: { type: 'blender', version: '4.2.1', mode: 'gui' },
    document: { path: '/shots/shot_010.blend', name: 'shot_010.blend', modified: true },
    scene: { name: 'Scene', view_layer: 'ViewLayer', scenes: ['Scene'] },
    time: { frame: 1, start: 1, end: 250, fps: 24, playing: false },
    mode: 'object',
    selection: { ids: selected, active: 'Prop.00005', count: 2, truncated: false },
    camera: 'Camera',
    render: { engine: 'cycles', width: 1920, height: 1080, percentage: 10, samples: 1 },
    collections: [{ name: 'Scene Collection', parent: null, objects: count }],
    objects: [{ ...camera, translate: [7.4, -6.9, 4.9] }, cube, ...objects],
    truncated: { objects: false, total: count, limit: count },
    warnings: [],
  }
}

/** Something that has a scene of so many objects, and can move one of them. */
interface Source {
  move(): Promise<unknown>
  stop(): Promise<unknown>
}

async function posted(serving: Serving, count: number): Promise<Source> {
  await serving.post('scene', makeScene(count, 0))
  return { move: () => serving.post('scene', makeScene(count, 1)), stop: async () => {} }
}

async function inBlender(registryDir: string, count: number): Promise<Source> {
  const addon = await installAddon()
  const script = fileURLToPath(new URL('agent-scene.py', import.meta.url))
  const env = { SERVICE_REGISTRY_DIR: registryDir, OBJECTS: String(count) }
  const blender = await startRemote(addon, { args: [...background, '--python', script], env })
  await blender.tell('connect')
  return {
    move: () => blender.tell('move'),
    async stop() {
      await blender.quit()
      await addon.remove()
    },
  }
}

/** Asks until the number is another one; Blender sends its scenes when it has time. */
async function revisionAfter(client: Client, before: number, count: number): Promise<number> {
  const expires = Date.now() + 30_000
  for (;;) {
    const { structuredContent: found } = (await client.callTool({
      ...{ name: 'query_scene', arguments: { pointer: '/objects', limit: 1 } },
    })) as any
    if (found.revision > before && found.total === count) return found.revision
    if (Date.now() > expires) throw new Error(`no scene of ${count} objects came`)
    await new Promise(resolve => setTimeout(resolve, 50))
  }
}

async function main(): Promise<void> {
  const hasBlender = hasPrograms('blender')
  if (!hasBlender) process.stdout.write('Blender is not installed: all scenes are posted\n')
  const lines = ['| question | scene | calls | characters |', '|---|---|---:|---:|']
  let isOver = false
  for (const count of [50, 2000, 10_000]) {
    const isReal = hasBlender && count <= 2000
    const folder = await mkdtemp(join(tmpdir(), 'service-cli-budget-'))
    const serving = await startServe(folder)
    const client = new Client({ name: 'budget', version: '1' })
    await client.connect(new StreamableHTTPClientTransport(new URL(serving.url)))
    let source: Source | undefined
    try {
      source = await (isReal ? inBlender(folder, count) : posted(serving, count))
      const since = await revisionAfter(client, 0, count)
      await source.move()
      await revisionAfter(client, since, count)
      for (const [question, answer, expected] of questions) {
        const texts: string[] = []
        await answer(async (name, args = {}) => {
          const { content } = (await client.callTool({ name, arguments: args })) as any
          texts.push(String(content[0].text))
          return texts.at(-1)!
        }, since)
        const answered = texts.join('\n')
        if (!expected.test(answered)) throw new Error(`${question}: ${answered}`)
        isOver ||= texts.length > maxCalls || answered.length > maxChars
        const scene = `${count} objects, ${isReal ? 'Blender' : 'posted'}`
        lines.push(`| ${question} | ${scene} | ${texts.length} | ${answered.length} |`)
      }
    } finally {
      await client.close()
      await source?.stop()
      await serving.stop()
      await rm(folder, { recursive: true, force: true })
    }
  }
  process.stdout.write(`${lines.join('\n')}\n`)
  if (isOver) process.exitCode = 1
}

await main()
