#!/usr/bin/env node
// Read by whatever Node is first in PATH: no syntax that Node 12 lacks, and no static import, so
// that an old Node gets as far as starting a newer one. (Imports of built-in modules also cost time.)
const needed = '24.15'
const args = process.argv.slice(2)

if (isOlder(process.versions.node, needed)) {
  continueOnNewer()
} else {
  const fs = process.getBuiltinModule('node:fs')
  const pjson = JSON.parse(fs.readFileSync(new URL('../package.json', import.meta.url), 'utf8'))
  if (args.length === 1 && (args[0] === '--version' || args[0] === '-V')) {
    // Answered here because loading the commands takes several times as long as Node itself.
    const machine = `${process.platform}-${process.arch}`
    print(fs, `service-cli/${pjson.version} ${machine} node-${process.version}\n`)
  } else {
    start(fs, pjson)
  }
}

function start(fs, pjson) {
  const entry = new URL('../dist/main.js', import.meta.url)
  if (!fs.existsSync(entry)) {
    fail('service-cli is not built: run npm run build first')
    return
  }
  process.title = 'service-cli'
  // The command parser would print all arguments, and a token may be among them.
  delete process.env.DEBUG
  const cache = privateCache(fs)
  if (cache !== null) process.getBuiltinModule('node:module').enableCompileCache(cache)
  const root = new URL('..', import.meta.url).href
  // No top-level await: with a closed pipe Node would end with 13 and a warning.
  void import(entry.href).then(program => program.main(args, { root, pjson }))
}

/**
 * Folder for compiled code, which Node runs unchecked: null unless this user alone can write it.
 * Node's own default is below the shared temporary folder, where another user may be first.
 */
function privateCache(fs) {
  const path = process.getBuiltinModule('node:path')
  const own = process.geteuid === undefined ? null : process.geteuid()
  try {
    const xdg = process.env.XDG_CACHE_HOME
    const isNamed = xdg !== undefined && path.isAbsolute(xdg)
    const home = process.getBuiltinModule('node:os').homedir()
    if (!isNamed && !path.isAbsolute(home)) return null
    const base = isNamed ? xdg : path.join(home, '.cache')
    const program = path.join(base, 'service-cli')
    const folder = path.join(program, 'compile-cache')
    // One by one: below /proc, Node would try a recursive mkdir again for ever.
    for (const made of [base, program, folder]) {
      if (!fs.existsSync(made)) fs.mkdirSync(made, { mode: 0o700 })
    }
    if (own === null) return folder
    // The owner of a folder can replace what is in it, in a sticky one such as /tmp too; there,
    // others cannot.
    const below = fs.statSync(base)
    if (below.uid !== own && below.uid !== 0) return null
    if (isOpen(below, 0o022) && !isOpen(below, 0o1000)) return null
    const isOwn = (found, open) => found.isDirectory() && found.uid === own && !isOpen(found, open)
    return isOwn(fs.lstatSync(program), 0o022) && isOwn(fs.lstatSync(folder), 0o077) ? folder : null
  } catch {
    // Read-only or no home: the cache is only for speed.
    return null
  }
}

function isOpen(found, bits) {
  return (found.mode & bits) !== 0
}

/** On the Node that a checkout has in `node_modules`. */
function continueOnNewer() {
  const exe = process.platform === 'win32' ? 'node.exe' : 'node'
  const newer = new URL(`../node_modules/node/bin/${exe}`, import.meta.url)
  const imports = [import('fs'), import('url'), import('tty'), import('child_process')]
  void Promise.all(imports).then(([fs, url, tty, child]) => {
    if (!fs.existsSync(newer)) {
      fail(`service-cli needs Node ${needed} or newer, this is ${process.versions.node}`)
      return
    }
    const entry = url.fileURLToPath(import.meta.url)
    const words = [...process.execArgv, entry, ...args]
    const running = child.spawn(url.fileURLToPath(newer), words, { stdio: 'inherit' })
    // A terminal sends Ctrl-C and its own end to both processes, and a second signal ends at once.
    const isShared = [0, 1, 2].some(fd => tty.isatty(fd))
    for (const signal of ['SIGINT', 'SIGHUP', 'SIGTERM']) {
      process.on(signal, () => {
        if (signal === 'SIGTERM' || !isShared) running.kill(signal)
      })
    }
    running.on('error', error =>
      fail(`${url.fileURLToPath(newer)} cannot be run: ${error.message}`),
    )
    running.on('exit', (code, signal) => {
      if (signal === null) process.exit(code)
      process.removeAllListeners(signal)
      process.kill(process.pid, signal)
    })
  })
}

function isOlder(version, minimum) {
  const have = version.split('.').map(Number)
  const need = minimum.split('.').map(Number)
  return have[0] < need[0] || (have[0] === need[0] && have[1] < need[1])
}

/** Past `process.stdout`, whose making alone costs a sixth of Node's own start. */
function print(fs, text) {
  try {
    fs.writeSync(1, text)
  } catch (error) {
    if (error.code === 'EAGAIN') process.stdout.write(text)
    else if (error.code !== 'EPIPE') fail(`error: cannot write to stdout (${error.code})`)
  }
}

function fail(message) {
  process.stderr.write(`${message}\n`)
  process.exitCode = 1
}
