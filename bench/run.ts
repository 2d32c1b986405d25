/** `npm run bench`: measures the server beside others in one run and prints tables of ratios. */
import { writeFileSync } from 'node:fs'
import { performance } from 'node:perf_hooks'
import { fileURLToPath } from 'node:url'
import { parseBenchArguments, type BenchArguments } from './arguments.ts'
import { Bench } from './bench.ts'
import type { Transport } from './load/transports.ts'
import { describeMachine } from './machine.ts'
import { measureLogin, measureSessionLookUp } from './rows/accounts.ts'
import { measureGet, measurePut } from './rows/artefacts.ts'
import { measureBeside } from './rows/beside.ts'
import { measureBlob } from './rows/blob.ts'
import { rowName } from './rows/transports.ts'
import { prepareReference } from './reference.ts'
import { measureCaptureBeside } from './rows/capture-beside.ts'
import { measureFanOut } from './rows/fan-out.ts'
import { measureInitialize } from './rows/initialize.ts'
import { measureInstances } from './rows/instances.ts'
import { measureAggregate, measureJoined } from './rows/aggregate.ts'
import { measureGateway } from './rows/gateway.ts'
import { measureList } from './rows/list.ts'
import { measureMemory } from './rows/memory.ts'
import { measureReadKey, measureReadOAuth } from './rows/read-auth.ts'
import { measureParts } from './rows/parts.ts'
import { measureRead } from './rows/read.ts'
import { measureSceneChange } from './rows/scene-change.ts'
import { measureStartUp } from './rows/start-up.ts'
import { measurePage, measureStorePut } from './rows/store.ts'
import { measureTools } from './rows/tools.ts'
import { measureWaits } from './rows/waits.ts'
import { measureWhoami } from './rows/whoami.ts'
import { renderMarkdown, renderText, type Measured } from './table.ts'

type Row = (bench: Bench) => Promise<Measured>

/** The rows that there are for each transport. */
const rowsOf = (transport: Transport): Readonly<Record<string, Row>> => ({
  [rowName('read', transport)]: bench => measureRead(bench, transport),
  [rowName('list', transport)]: bench => measureList(bench, transport),
  [rowName('blob', transport)]: bench => measureBlob(bench, transport),
  [rowName('fanout', transport)]: bench =>
    measureFanOut(bench, {
      name: 'fanout',
      transport,
      streams: 200,
      oneAtATime: bench.pick(200, 40),
      burst: 200,
      rounds: bench.pick(5, 2),
    }),
  [rowName('fanout-2000', transport)]: bench =>
    measureFanOut(bench, {
      name: 'fanout-2000',
      transport,
      streams: bench.pick(2000, 1000),
      oneAtATime: bench.pick(20, 5),
      burst: bench.pick(20, 10),
      rounds: bench.pick(3, 2),
    }),
  [rowName('memory', transport)]: bench => measureMemory(bench, transport),
  [rowName('beside', transport)]: bench => measureBeside(bench, transport),
})

const rows: Readonly<Record<string, Row>> = {
  ...rowsOf('session'),
  ...rowsOf('stateless'),
  initialize: measureInitialize,
  'read-key': measureReadKey,
  'read-oauth': measureReadOAuth,
  tools: measureTools,
  waits: measureWaits,
  'scene-change': measureSceneChange,
  parts: measureParts,
  'capture-beside': measureCaptureBeside,
  put: measurePut,
  get: measureGet,
  'store-put': measureStorePut,
  page: measurePage,
  startup: measureStartUp,
  instances: measureInstances,
  whoami: measureWhoami,
  'session-lookup': measureSessionLookUp,
  login: measureLogin,
  gateway: measureGateway,
  aggregate: measureAggregate,
  joined: measureJoined,
}

/** Rows of many servers, measured whole with each build. */
const apart = new Set(['gateway', 'aggregate', 'joined'])

const help = `usage: npm run bench -- [row…] [--quick] [--markdown] [--json FILE]
                        [--reference] [--servers NAME,…] [--entry FILE]

rows: ${Object.keys(rows).join(', ')} (default: all)
--quick      fewer and shorter rounds (under 4 minutes instead of 20)
--markdown   tables for docs/performance.md
--json FILE  every figure of every round
--reference  the build of the commit in bench/reference beside today's, in turn
--servers    only these, in one run
--entry      the program whose serve is measured (default: bin/run.js)
`

/** A run over this starts no further row. */
const limitMs = { full: 20 * 60_000, quick: 4 * 60_000 }

const defaultEntry = fileURLToPath(new URL('../bin/run.js', import.meta.url))

async function main(): Promise<void> {
  const options = parseBenchArguments(process.argv.slice(2), Object.keys(rows), defaultEntry)
  if (options.help) {
    process.stdout.write(help)
    return
  }
  const reference = options.withReference ? prepareReference() : undefined
  const bench = new Bench({ ...options, ...(reference !== undefined && { reference }) })
  const cleanUp = () => bench.cleanUp()
  process.once('exit', cleanUp)
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1))
  const measured = await measureAll(bench, options)
  if (options.json !== undefined) {
    const result = { machine: describeMachine(), quick: options.quick, rows: measured }
    writeFileSync(options.json, `${JSON.stringify(result, null, 2)}\n`)
  }
}

async function measureAll(bench: Bench, options: BenchArguments): Promise<Measured[]> {
  const started = performance.now()
  const limit = options.quick ? limitMs.quick : limitMs.full
  const measured: Measured[] = []
  process.stdout.write(`${describeMachine()}\n\n`)
  for (const name of options.rows) {
    const elapsed = performance.now() - started
    if (elapsed > limit) {
      bench.say(`${name}: left out, the run took ${Math.round(elapsed / 1000)} s already`)
      continue
    }
    try {
      for (const build of apart.has(name) ? bench.builds : [bench.settings]) {
        bench.settings = { ...bench.settings, entry: build.entry }
        const table = await rows[name]?.(bench)
        if (table === undefined) continue
        const isReference = build.entry === bench.settings.reference
        const shown = isReference ? { ...table, title: `${table.title} (reference)` } : table
        measured.push(shown)
        process.stdout.write(`${options.markdown ? renderMarkdown(shown) : renderText(shown)}\n`)
        await bench.stopAll()
      }
      bench.say(`(${name} took ${Math.round((performance.now() - started - elapsed) / 1000)} s)`)
    } catch (error) {
      bench.say(`${name}: ${(error as Error).message}`)
    } finally {
      bench.settings = { ...bench.settings, entry: options.entry }
      await bench.stopAll()
    }
  }
  return measured
}

try {
  await main()
} catch (error) {
  process.stderr.write(`${(error as Error).message}\n`)
  process.exitCode = 1
}
