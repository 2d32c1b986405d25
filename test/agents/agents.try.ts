import { appendFile, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { expect } from 'chai'
import { rgbPng } from '../helpers/pictures.ts'
import { runOwn } from '../clients/run-program.ts'
import { type Serving, startServe } from '../clients/serve.ts'
import { freePort } from '../helpers/free-port.ts'
import { LinkClient } from '../helpers/link.ts'
import { callStateless } from '../helpers/stateless.ts'
import { type Program, programs, runProgram } from './programs.ts'
import { type Call, startStubModel } from './stub-model.ts'

interface Content {
  type: string
  text?: string
}

const uri = 'scene://current'
const key = 'an-api-key-of-thirty-two-characters'

/** Texts and pictures of a result, wherever the API has them. */
function contentsOf(value: unknown): Content[] {
  if (typeof value === 'string') {
    const isPicture = /^(data:image\/|iVBORw0KGgo)/.test(value)
    return [isPicture ? { type: 'image' } : { type: 'text', text: value }]
  }
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(contentsOf) : []
}

const picturesIn = (contents: Content[]) => contents.filter(each => each.type === 'image').length
const textOf = (contents: Content[]) => contents.map(each => each.text ?? '').join('\n')
/** Words and numbers, without the escapes of JSON in a text. */
const wordsOf = (text: string) => text.replace(/\\+[nrt"]/g, ' ').match(/[\p{L}\p{N}]+/gu) ?? []

/** Words of `sent` that `arrived` has not, or not as often. */
function missingWords(sent: Content[], arrived: Content[]): string[] {
  const left = new Map<string, number>()
  for (const word of wordsOf(textOf(arrived))) left.set(word, (left.get(word) ?? 0) + 1)
  return wordsOf(textOf(sent)).filter(word => {
    const count = left.get(word) ?? 0
    left.set(word, count - 1)
    return count <= 0
  })
}

/**
 * Real programs with a stub in place of their model: it asks for each tool and records what comes
 * back. Those that are in PATH are tried. What it prints is for reading; docs/clients.md has the versions.
 */
describe('the answer of a tool', function () {
  this.timeout(180_000)
  let folder: string
  let serving: Serving
  let keyed: Serving
  let app: LinkClient
  let revision: number
  let open: string[]
  const notes: { id: string; number: number }[] = []

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'service-cli-agents-'))
    open = ['--registry-dir', join(folder, 'open')]
    for (const name of ['open', 'keyed']) await mkdir(join(folder, name), { mode: 0o700 })
    const keyFile = join(folder, 'key')
    await writeFile(keyFile, key, { mode: 0o600 })
    serving = await startServe(join(folder, 'open'), ['--dcc-type', 'blender'])
    keyed = await startServe(join(folder, 'keyed'), ['--api-key-file', keyFile])
    await keyed.post('scene', { objects: [{ name: 'Teapot' }] })
    const capture = { targets: ['window', 'viewport'], shots: true }
    app = await LinkClient.connect(serving, { capture })
    let grey = 50
    app.answer = () => {
      const [width, height] = [320, 180]
      const bytes = new Uint8Array(width * height * 3).fill(grey)
      return { png: rgbPng(bytes, width, height), view: {} }
    }
    await show(0)
    revision = Number(/revision\D+(\d+)/.exec(textOf(await call('query_scene', {})))?.[1])
    const note = { text: 'Too bright', targets: ['Key Light'], view: {} }
    for (const _ of [...programs, ...programs]) {
      notes.push((await serving.post('notes', note)).json.note)
    }
    grey = 200
    await show(0.25)
  })
  after(async () => {
    await app?.bye()
    const codes = [await serving?.stop(), await keyed?.stop()]
    await rm(folder, { recursive: true, force: true })
    expect(codes).to.deep.equal([0, 0])
  })

  async function show(x: number) {
    const light = { id: 'Key Light', name: 'Key Light', type: 'light', location: [4, 1, 6] }
    const meshes = Array.from({ length: 800 }, (_, index) => {
      const name = `Cube.${index}`
      return { id: name, name, type: 'mesh', location: [index < 20 ? x * index : 0, index, 0] }
    })
    const scene = { objects: [light, ...meshes], selection: { ids: ['Key Light'] } }
    await app.done({ type: 'scene.set', scene })
  }

  async function ask(method: string, params: Record<string, unknown> = {}): Promise<any> {
    const { json, text } = await callStateless(serving.url, method, params)
    expect(json?.result, text).to.be.an('object')
    return json.result
  }
  async function call(name: string, args: object): Promise<Content[]> {
    const { content, isError } = await ask('tools/call', { name, arguments: args })
    expect(isError, textOf(content)).to.equal(undefined)
    return content
  }

  /** Runs the program, at home in a folder of its own, until the stub has asked for everything. */
  async function run(
    context: Mocha.Context,
    program: Program,
    servers: Record<string, string[]>,
    script: Call[],
    before?: (made: number) => Promise<void>,
  ) {
    const home = await mkdtemp(join(folder, 'home-'))
    const stub = await startStubModel(script, before)
    try {
      const variables = { home, SERVICE_MCP_API_KEY: key, ...program.environment?.(stub.url) }
      if (program.settings !== undefined) {
        const [path, text] = program.settings(stub.url)
        await mkdir(dirname(join(home, path)), { recursive: true })
        await writeFile(join(home, path), text)
      }
      for (const [name, flags] of Object.entries(servers)) {
        const isPasted = program.client === 'codex'
        const args = ['mcp-config', program.client, '--name', name, ...flags]
        const { code, stdout, stderr } = await runOwn(isPasted ? args : [...args, '--write'], {
          home,
        })
        expect(code, stderr).to.equal(0)
        if (isPasted) await appendFile(join(home, '.codex', 'config.toml'), `\n${stdout}`)
      }
      const said = await runProgram(context, [program.bin, ...program.args.split(' ')], variables)
      expect(stub.turns, said).to.have.length(script.length + 1)
      return stub.turns
    } finally {
      await stub.stop()
    }
  }

  for (const [index, program] of programs.entries()) {
    it(`reaches the model of ${program.title} with every word and picture`, async function () {
      const steps: [name: string, args: object][] = [
        ['list_resources', {}],
        ['read_resource', { uri }],
        ['query_scene', {}],
        ['query_scene', { type: 'mesh' }],
        ['scene_changes', { since: revision }],
        ['look', {}],
        ['wait_for_change', { since: revision }],
        ['list_notes', {}],
      ]
      // A note is answered once: that of the program is a twin of the one that is answered here.
      const [theirs, ours] = [notes[2 * index]!, notes[2 * index + 1]!]
      const proof = await call('answer_note', { id: ours.id, text: 'Dimmed' })
      const asTheirs = (text: string) =>
        text
          .replaceAll(ours.id, theirs.id)
          .replace(`note ${ours.number} `, `note ${theirs.number} `)
      const sent: Content[][] = [
        proof.map(each => ({ ...each, text: each.text && asTheirs(each.text) })),
      ]
      const answer: [string, object] = ['answer_note', { id: theirs.id, text: 'Dimmed' }]
      const script = [answer, ...steps].map(([name, args]) => program.call('blender', name, args))
      const turns = await run(this, program, { blender: open }, script)
      for (const [name, args] of steps) sent.push(await call(name, args))

      const faults: string[] = []
      for (const [step, [name]] of [answer, ...steps].entries()) {
        const arrived = contentsOf(turns[step + 1]!.arrived)
        const missing = missingWords(sent[step]!, arrived)
        if (missing.length > 0) faults.push(`${name}: ${missing.slice(0, 5).join(' ')}`)
        const lacksPicture = picturesIn(arrived) < picturesIn(sent[step]!)
        if (!program.isBlind && lacksPicture) faults.push(`${name}: picture`)
      }
      expect(faults, `missing in ${program.title}`).to.deep.equal([])
    })

    it(`reaches ${program.title} without a key, with one, and by the bridge`, async function () {
      const withKey = ['--registry-dir', join(folder, 'keyed')]
      const servers = { blender: open, keyed: withKey, bridged: [...withKey, '--stdio'] }
      const turns = await run(this, program, servers, [
        ...Object.keys(servers).map(entry => program.call(entry, 'read_resource', { uri })),
        ...(program.read === undefined ? [] : [program.read('keyed', uri)]),
      ])
      // Gemini CLI reads a resource by its URI alone: of the first server that has it.
      const expected = [/Key Light/, /Teapot/, /Teapot/, /Teapot|Key Light/]
      for (const [at, { arrived }] of turns.slice(1).entries()) {
        const text = textOf(contentsOf(arrived))
        expect(text.slice(0, 1000)).to.match(expected[at]!)
      }
    })

    it(`goes on in ${program.title} after a restart of the server`, async function () {
      const place = await mkdtemp(join(folder, 'restart-'))
      let restarted = await startServe(place, [], await freePort())
      try {
        await restarted.post('scene', { objects: [{ name: 'Teapot' }] })
        const { port } = new URL(restarted.url)
        const read = program.call('blender', 'read_resource', { uri })
        const turns = await run(
          this,
          program,
          { blender: ['--registry-dir', place] },
          [read, read],
          async made => {
            if (made !== 1) return
            await restarted.stop()
            restarted = await startServe(place, [], Number(port))
            await restarted.post('scene', { objects: [{ name: 'Kettle' }] })
          },
        )
        expect(textOf(contentsOf(turns[1]!.arrived))).to.include('Teapot')
        expect(textOf(contentsOf(turns[2]!.arrived))).to.include('Kettle')
      } finally {
        await restarted.stop()
      }
    })
  }
})
