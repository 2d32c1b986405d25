/**
 * `node bench/agent-budget.ts`: how many calls and characters an agent needs for the usual questions
 * about a scene, asked of a real server with scenes as the Blender add-on sends them. Aim: at most
 * two calls and 6,000 characters for each.
 */
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startServe } from '../test/clients/serve.ts'

type Ask = (name: string, args?: Record<string, unknown>) => Promise<string>

const maxCalls = 2
const maxChars = 6000

/** Each question, with the calls that a model makes for it and a part of the right answer. */
const questions: readonly [string, (ask: Ask, since: number) => Promise<unknown>, string][] = [
  ['what is selected', ask => ask('query_scene'), '"ids":["Prop.00002","Prop.00005"]'],
  [
    'which objects are hidden',
    async ask => {
      await ask('query_scene')
      await ask('query_scene', { where: 'visible:false', fields: ['id'], max_chars: 3000 })
    },
    '"Prop.00007"',
  ],
  [
    'what changed since I last looked',
    (ask, since) => ask('scene_changes', { since, max_chars: 2500 }),
    'Prop.00003 moved 0.50 along x',
  ],
  [
    'where is the camera',
    ask => ask('query_scene'),
    '"camera":{"id":"Camera","translate":[7,-7,5]',
  ],
  [
    'what is wrong with this render setting',
    ask => ask('query_scene', { pointer: '/render' }),
    '"samples":1',
  ],
]

/** A scene of the schema dcc-scene/1 with so many objects; every seventh is hidden. */
function makeScene(count: number, moved: number) {
  const objects = Array.from({ length: count - 1 }, (_, at) => {
    const id = `Prop.${String(at + 1).padStart(5, '0')}`
    return {
      ...{ id, name: id, type: at % 20 === 0 ? 'light' : 'mesh', visible: (at + 1) % 7 !== 0 },
      ...{ translate: [at + (at === 2 ? moved : 0), at % 50, 0], rotate_order: 'xyz' },
      ...{ rotate: [0, 0, 0], scale: [1, 1, 1] },
    }
  })
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
    render: { engine: 'cycles', width: 1920, height: 1080, percentage: 25, samples: 1 },
    collections: [{ name: 'Scene Collection', parent: null, objects: count }],
    objects: [{ ...camera, translate: [7, -7, 5], rotate: [63, 0, 46] }, ...objects],
    truncated: { objects: false, total: count, limit: count },
    warnings: [],
  }
}

async function main(): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'service-cli-budget-'))
  const serving = await startServe(folder)
  const client = new Client({ name: 'budget', version: '1' })
  await client.connect(new StreamableHTTPClientTransport(new URL(serving.url)))
  const lines = ['| objects | question | calls | characters |', '|---:|---|---:|---:|']
  let isOver = false
  try {
    for (const count of [50, 2000, 10_000]) {
      await serving.post('scene', makeScene(count, 0))
      const first = (await client.callTool({ name: 'query_scene', arguments: {} })) as any
      const since = Number(first.structuredContent.revision)
      await serving.post('scene', makeScene(count, 0.5))
      for (const [question, answer, expected] of questions) {
        const texts: string[] = []
        await answer(async (name, args = {}) => {
          const { content } = (await client.callTool({ name, arguments: args })) as any
          texts.push(String(content[0].text))
          return texts.at(-1)!
        }, since)
        const chars = texts.join('').length
        if (!texts.join('').includes(expected)) throw new Error(`${question}: ${texts.join('\n')}`)
        isOver ||= texts.length > maxCalls || chars > maxChars
        lines.push(`| ${count} | ${question} | ${texts.length} | ${chars} |`)
      }
    }
  } finally {
    await client.close()
    await serving.stop()
    await rm(folder, { recursive: true, force: true })
  }
  process.stdout.write(`${lines.join('\n')}\n`)
  if (isOver) process.exitCode = 1
}

await main()
