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

/**
 * The settings of every client that `mcp-config` knows, with placeholders for name and address, by the
 * platform of the browser.
 */
async function clientEntries() {
  const settings = '../dist/lib/mcp/settings'
  const { clients } = await import(`${settings}/clients.js`)
  const { makeEntry, newSettings } = await import(`${settings}/entry.js`)
  const { settingsPaths } = await import(`${settings}/settings-file.js`)
  const { quoteArgument } = await import('../dist/lib/cli/format.js')
  const scope = 'user'

  const form = (client, needsKey, platform) => {
    const usesFile = needsKey && client.key === undefined
    const isBridged = usesFile || client.http === undefined
    const keyFile = usesFile ? ['--api-key-file', 'FILE'] : []
    const bridge = isBridged ? ['service-cli', 'connect', '{url}', ...keyFile] : null
    const keyed = needsKey && !usesFile
    const made = makeEntry(client, { name: '{name}', url: '{url}', scope, keyed, bridge })
    return {
      command: made.own?.map(word => quoteArgument(word, platform)).join(' ') ?? null,
      settings: newSettings(client, made).trimEnd(),
      notes: made.notes,
      flags: usesFile ? `${client.http ? ' --stdio' : ''} --api-key-file FILE` : '',
    }
  }
  const entry = (client, platform) => ({
    id: client.id,
    title: client.title,
    file: settingsPaths(client, scope, { platform, env: {}, home: '~' })[0] ?? null,
    isWritten: client.format.startsWith('json'),
    open: form(client, false, platform),
    keyed: form(client, true, platform),
  })
  const platforms = ['linux', 'darwin', 'win32']
  return Object.fromEntries(
    platforms.map(each => [each, clients.map(client => entry(client, each))]),
  )
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
