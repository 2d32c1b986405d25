// Compiles src to dist, bundles page into it and lists the commands for oclif. With --if-stale only when dist is missing or older than src.
import { spawnSync } from 'node:child_process'
import {
  existsSync,
  readFileSync,
  readdirSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))
const dist = join(root, 'dist')
// Written last, so that a build that was cut short counts as stale.
const stamp = join(dist, '.built')

if (!process.argv.includes('--if-stale') || isStale()) await build()

function isStale() {
  if (!existsSync(stamp)) return true
  const builtAt = statSync(stamp).mtimeMs
  const inputs = ['package.json', 'tsconfig.json', 'tsconfig.build.json'].map(at => join(root, at))
  // Folders count too: their time changes when a file in them is removed.
  const sources = ['src', 'page'].flatMap(folder => entriesBelow(join(root, folder)))
  return [...inputs, ...sources].some(path => statSync(path).mtimeMs > builtAt)
}

async function build() {
  const startedAt = new Date()
  process.stderr.write('building dist …\n')
  rmSync(dist, { recursive: true, force: true })
  const tsc = join(root, 'node_modules', 'typescript', 'bin', 'tsc')
  const args = [tsc, '-p', join(root, 'tsconfig.build.json')]
  const { status } = spawnSync(process.execPath, args, { stdio: 'inherit' })
  if (status !== 0) {
    // The compiler has said what is wrong.
    process.exitCode = 1
    return
  }
  dropUnreachableTypes()
  const { buildPage } = await import('./build-page.js')
  await buildPage()
  await writeManifest()
  writeFileSync(stamp, '')
  // What was edited during the build is newer than the build.
  utimesSync(stamp, startedAt, startedAt)
  process.stderr.write(`built dist in ${Date.now() - startedAt.getTime()} ms\n`)
}

/** Keeps the declarations that those of the package's two entries refer to. */
function dropUnreachableTypes() {
  const kept = new Set()
  const keep = file => {
    if (kept.has(file)) return
    kept.add(file)
    const imports = readFileSync(file, 'utf8').matchAll(
      /(?:from |import\()['"](\.[^'"]+)\.[jt]s['"]/g,
    )
    for (const [, path] of imports) keep(join(dirname(file), `${path}.d.ts`))
  }
  keep(join(dist, 'index.d.ts'))
  keep(join(dist, 'host-client.d.ts'))
  for (const file of entriesBelow(dist)) {
    if (file.endsWith('.d.ts') && !kept.has(file)) rmSync(file)
  }
}

/** With it oclif knows all commands without loading them. */
async function writeManifest() {
  const { Plugin, settings } = await import('@oclif/core')
  settings.enableAutoTranspile = false
  const plugin = new Plugin({
    root,
    isRoot: true,
    ignoreManifest: true,
    errorOnManifestCreate: true,
  })
  await plugin.load()
  writeFileSync(join(root, 'oclif.manifest.json'), JSON.stringify(plugin.manifest))
}

function entriesBelow(folder) {
  const names = readdirSync(folder, { recursive: true }).map(String)
  return [folder, ...names.map(name => join(folder, name))]
}
