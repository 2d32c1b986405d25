/**
 * `node bench/agent-budget.ts`: how many calls and characters an agent needs for the usual questions
 * about a scene, asked of a real server with scenes of a real Blender, or posted ones. Exit code 1:
 * an answer is wrong, or takes more than two calls or 6,000 characters.
 */
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { dataKey } from '../src/lib/mcp/call-meta.ts'
import { end, type Serving, startServe } from '../test/clients/serve.ts'
import { until } from '../test/helpers/until.ts'
import {
  type InstalledAddon,
  type Remote,
  background,
  hasPrograms,
  installAddon,
  startRemote,
} from '../test/helpers/blender.ts'

const maxCalls = 2
const maxChars = 6000
const limitMs = 5 * 60_000

/** Calls a tool; resolves with the data of its answer. */
type Ask = (name: string, args?: Record<string, unknown>) => Promise<any>

/** What is true of a scene, known without the server. */
interface Facts {
  readonly selected: readonly string[]
  readonly hidden: readonly string[]
  readonly camera: readonly number[]
}

interface Shown extends Facts {
  /** The revision before `Cube` moved by one along x. */
  readonly since: number
}

/** One page of those objects, as the usual limit has it. */
async function assertListed(ask: Ask, where: string, ids: readonly string[]): Promise<void> {
  const { total, items } = await ask('query_scene', { where, fields: ['id'], max_chars: 3000 })
  assert.equal(total, ids.length)
  assert.equal(items.length, Math.min(ids.length, 50))
  for (const { id } of items) assert(ids.includes(id), `${id} is not ${where}`)
}

/** Each question, with the calls that a model makes for it and the check of what they say. */
const questions: readonly [string, (ask: Ask, shown: Shown) => Promise<void>][] = [
  [
    'what is selected (number, and the first 50)',
    async (ask, { selected }) => {
      const { selection } = await ask('query_scene')
      assert.equal(selection.count, selected.length)
      if (selection.ids.length === selection.count) {
        return assert.deepEqual(selection.ids.toSorted(), selected.toSorted())
      }
      await assertListed(ask, 'selected:true', selected)
    },
  ],
  [
    'which objects are hidden (number, and the first 50)',
    async (ask, { hidden }) => {
      assert.equal((await ask('query_scene')).hidden.count, hidden.length)
      await assertListed(ask, 'visible:false', hidden)
    },
  ],
  [
    'what changed since I last looked',
    async (ask, { since }) => {
      const { changes } = await ask('scene_changes', { since, max_chars: 2500 })
      const [{ id, path, before, after }, ...more] = changes
      assert.deepEqual(more, [])
      assert.equal(id, 'Cube')
      assert.match(path, /translate$/)
      assert.deepEqual(after, [before[0] + 1, before[1], before[2]])
    },
  ],
  [
    'where is the camera',
    async (ask, facts) => {
      const { camera } = await ask('query_scene')
      assert.equal(camera.id, 'Camera')
      assert.deepEqual(
        camera.translate.map((value: number) => Math.round(value * 1000) / 1000),
        facts.camera,
      )
    },
  ],
  [
    'what is wrong with this render setting',
    async ask => {
      const { value } = await ask('query_scene', { pointer: '/render' })
      assert.deepEqual([value.samples, value.percentage], [1, 10])
    },
  ],
]

/** A scene of the schema dcc-scene/1 with so many objects; every seventh is hidden. */
function makeScene(count: number, moved: number) {
  const props = Array.from({ length: count - 2 }, (_, at) => {
    const id = `Prop.${String(at + 1).padStart(5, '0')}`
    return {
      id,
      name: id,
      type: at % 20 === 0 ? 'light' : 'mesh',
      visible: (at + 1) % 7 !== 0,
      translate: [at, at % 50, 0],
      rotate_order: 'xyz',
      rotate: [0, 0, 0],
      scale: [1, 1, 1],
    }
  })
  const objects = [
    { id: 'Camera', name: 'Camera', type: 'camera', visible: true, translate: [7, -7, 5] },
    { id: 'Cube', name: 'Cube', type: 'mesh', visible: true, translate: [moved, 0, 0] },
    ...props,
  ]
  const selected = ['Prop.00002', 'Prop.00005']
  const hidden = props.filter(({ visible }) => !visible).map(({ id }) => id)
  const scene = {
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
    objects,
    truncated: { objects: false, total: count, limit: count },
    warnings: [],
  }
  return { scene, facts: { selected, hidden, camera: [7, -7, 5] } }
}

/** Posts the scene before and after the move. */
async function showPosted(serving: Serving, ask: Ask, count: number): Promise<Shown> {
  const { scene, facts } = makeScene(count, 0)
  await serving.post('scene', scene)
  const { revision: since } = await ask('query_scene')
  await serving.post('scene', makeScene(count, 1).scene)
  return { ...facts, since }
}

/** Makes the scene in Blender, and moves the cube when everything else has been told. */
async function showBlender(blender: Remote, ask: Ask, count: number): Promise<Shown> {
  const facts = (await blender.ask(`varied ${count}`)) as Facts
  await blender.tell('connect')
  await until(async () => (await ask('query_scene')).objects?.total === count, 'the scene')
  let { revision: since } = await ask('query_scene')
  for (;;) {
    const { changed, revision } = await ask('wait_for_change', { since, timeout_s: 2 })
    if (!changed) break
    since = revision
  }
  await blender.tell('move')
  const { changed } = await ask('wait_for_change', { since })
  assert(changed, 'Blender did not tell of the move')
  return { ...facts, since }
}

/** Adds up what is asked. A model reads the text of an answer; the data is for the checks. */
function createAsk(client: Client, tally = { calls: 0, chars: 0 }): Ask {
  return async (name, args = {}) => {
    const params = { name, arguments: args, _meta: { [dataKey]: true } }
    const result = (await client.callTool(params)) as any
    const { text } = result.content[0]
    if (result.isError) throw new Error(`${name}: ${text}`)
    tally.calls += 1
    tally.chars += text.length
    return result.structuredContent
  }
}

/** A cell for each question about a scene, on a server of its own; `used` ends what it started. */
async function measure(
  used: AsyncDisposableStack,
  addon: InstalledAddon | null,
  count: number,
): Promise<string[]> {
  const registryDir = await mkdtemp(join(tmpdir(), 'registry-'))
  const serving = await startServe(registryDir)
  used.defer(async () => void (await serving.stop()))
  const client = new Client({ name: 'budget', version: '1' })
  used.defer(() => client.close())
  await client.connect(new StreamableHTTPClientTransport(new URL(serving.url)))
  const ask = createAsk(client)
  let shown
  if (addon === null) {
    shown = await showPosted(serving, ask, count)
  } else {
    const env = { SERVICE_REGISTRY_DIR: registryDir }
    const words = fileURLToPath(new URL('blender-words.py', import.meta.url))
    const blender = await startRemote(addon, { args: background, env, words })
    used.defer(async () => void (await end(blender.run.child)))
    shown = await showBlender(blender, ask, count)
  }
  const cells: string[] = []
  for (const [question, answer] of questions) {
    const tally = { calls: 0, chars: 0 }
    await answer(createAsk(client, tally), shown)
    const { calls, chars } = tally
    cells.push(`${calls} | ${chars.toLocaleString('en')}`)
    if (calls <= maxCalls && chars <= maxChars) continue
    process.exitCode = 1
    process.stderr.write(`over budget: ${question}\n`)
  }
  return cells
}

async function measureAll(used: AsyncDisposableStack): Promise<void> {
  const hasBlender = hasPrograms('blender')
  if (!hasBlender) process.stderr.write('blender is not installed: every scene is posted\n')
  const addon = hasBlender ? await installAddon() : null
  const asked = questions.map(([question]) => question)
  const columns = [['Question', '---', ...asked]]
  for (const count of [50, 2000, 10_000]) {
    const from = addon === null ? 'posted' : 'Blender'
    const head = `calls | ${count.toLocaleString('en')} objects, ${from}`
    columns.push([head, '---: | ---:', ...(await measure(used, addon, count))])
  }
  for (const row of columns[0]!.keys()) {
    process.stdout.write(`| ${columns.map(column => column[row]).join(' | ')} |\n`)
  }
}

/** Rejects when the run is interrupted or takes too long. */
function stopped(): Promise<never> {
  return new Promise((_, reject) => {
    for (const signal of ['SIGINT', 'SIGTERM'] as const) {
      process.once(signal, () => reject(new Error(signal)))
    }
    setTimeout(() => reject(new Error(`not done within ${limitMs} ms`)), limitMs).unref()
  })
}

const folder = await mkdtemp(join(tmpdir(), 'service-cli-budget-'))
// The add-on, the servers and Blender leave their files there, too.
process.env.TMPDIR = folder
const used = new AsyncDisposableStack()
used.defer(() => rm(folder, { recursive: true, force: true, maxRetries: 3 }))
try {
  await Promise.race([measureAll(used), stopped()])
} finally {
  await used.disposeAsync()
}
