// Bundles page/ into dist/page. Runs after the compiler: what it says of AI clients comes from dist.
import { build } from 'esbuild'
import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))
const out = join(root, 'dist', 'page')

export async function buildPage() {
  mkdirSync(out, { recursive: true })
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  const options = {
    absWorkingDir: root,
    bundle: true,
    target: 'es2023',
    minify: true,
    metafile: true,
    jsx: 'automatic',
    jsxImportSource: 'preact',
    legalComments: 'none',
    logLevel: 'warning',
    define: {
      SERVICE_VERSION: JSON.stringify(version),
      SERVICE_CLIENTS: JSON.stringify(await clientEntries()),
    },
  }
  const { metafile } = await build({
    ...options,
    entryPoints: [{ in: join(root, 'page', 'main.tsx'), out: 'app' }],
    outdir: out,
    format: 'esm',
  })
  writeFileSync(join(out, 'live-app.html'), await liveApp(options))
  for (const name of ['index.html', 'app.css', 'icon.svg']) {
    copyFileSync(join(root, 'page', name), join(out, name))
  }
  writeFileSync(join(out, 'LICENCES.txt'), licences(Object.keys(metafile.inputs)))
}

/** The live view for chats: one text, because a chat has nowhere to load another file from. */
async function liveApp(options) {
  const { outputFiles } = await build({
    ...options,
    entryPoints: [join(root, 'page', 'chat.tsx'), join(root, 'page', 'chat', 'chat.css')],
    outdir: out,
    format: 'iife',
    write: false,
  })
  const textOf = extension => outputFiles.find(({ path }) => path.endsWith(extension)).text.trim()
  // In a string of the script, the escape is the same character; elsewhere none of these stands.
  const script = textOf('.js').replaceAll(/<(?=\/script|!--)/gi, '\\x3C')
  const html = readFileSync(join(root, 'page', 'chat', 'live-app.html'), 'utf8')
  return html
    .replace('</head>', () => `<style>${textOf('.css')}</style></head>`)
    .replace('</body>', () => `<script>${script}</script></body>`)
}

/** The settings of every client that `mcp-config` knows, with placeholders for name and address. */
async function clientEntries() {
  const settings = '../dist/lib/mcp/settings'
  const { clients } = await import(`${settings}/clients.js`)
  const { notesOf } = await import(`${settings}/entries.js`)
  const { newSettings } = await import(`${settings}/merge-settings.js`)
  const { quoteArgument } = await import('../dist/lib/cli/format.js')
  const [scope, platform] = ['user', 'linux']
  const place = { platform, env: {}, home: '~', cwd: '.' }

  const form = (client, keyed) => {
    const bridge = client.stdioOnly ? ['service-cli', 'connect', '{url}'] : null
    const given = { name: '{name}', url: '{url}', keyed, bridge }
    const { format, section } = client
    const input = client.input?.(given) ?? null
    const wanted = { format, section, name: given.name, entry: client.entry(given), input }
    return {
      commands: client
        .commands(given, scope)
        .map(words => words.map(word => quoteArgument(word, platform)).join(' ')),
      settings: newSettings(wanted).trimEnd(),
      notes: notesOf(client, given, scope),
    }
  }
  return clients.map(client => ({
    id: client.id,
    title: client.title,
    file: client.file(scope, place)?.path ?? null,
    open: form(client, false),
    keyed: form(client, true),
  }))
}

/** The licences of the packages that are in the bundle. */
function licences(inputs) {
  const folders = inputs.flatMap(path => /^.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(path) ?? [])
  const texts = [...new Set(folders)].toSorted().map(path => {
    const folder = join(root, path)
    const { name, version, license } = JSON.parse(
      readFileSync(join(folder, 'package.json'), 'utf8'),
    )
    return `${name} ${version} (${license})\n\n${readFileSync(join(folder, 'LICENSE'), 'utf8').trim()}\n`
  })
  return texts.join('\n---\n\n')
}
