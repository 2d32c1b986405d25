#!/usr/bin/env node
// Read by whatever Node is first in PATH: no syntax that Node 12 lacks, and no static import (which
// also costs time), so that an old Node gets as far as starting a newer one.
const args = process.argv.slice(2)

const [major, minor] = process.versions.node.split('.').map(Number)
if (major < 24 || (major === 24 && minor < 9)) void continueOnNewer()
else if (args.length === 1 && (args[0] === '--version' || args[0] === '-V')) printVersion()
else start()

function start() {
  process.title = 'service-cli'
  // oclif would print all arguments, and a token may be among them.
  delete process.env.DEBUG
  enableCompileCache()
  if (process.channel) {
    // The launcher below is gone, however it ended.
    process.on('disconnect', () => process.kill(process.pid, 'SIGTERM'))
    process.channel.unref()
  }
  const program = new URL('../dist/main.js', import.meta.url)
  if (!process.getBuiltinModule('fs').existsSync(program)) {
    process.stderr.write('service-cli is not built; run npm run build in its folder\n')
    process.exit(1)
  }
  void import(program.href).then(({ main }) => main(args))
}

/** Answered here because loading oclif takes several times as long as Node itself. */
function printVersion() {
  const fs = process.getBuiltinModule('fs')
  const { version } = JSON.parse(fs.readFileSync(new URL('../package.json', import.meta.url)))
  const { platform, arch, version: node } = process
  fs.writeSync(1, `service-cli/${version} ${platform}-${arch} node-${node}\n`)
}

/** Node runs what is in this folder unchecked: only this user may write there. */
function enableCompileCache() {
  const [fs, os, path] = ['fs', 'os', 'path'].map(name => process.getBuiltinModule(name))
  try {
    const base = process.env.XDG_CACHE_HOME || path.join(os.homedir(), '.cache')
    const folder = path.join(base, 'service-cli', 'compile-cache')
    if (!path.isAbsolute(folder)) return
    fs.mkdirSync(folder, { recursive: true, mode: 0o700 })
    const { uid, mode } = fs.lstatSync(folder)
    const isOwn = !process.geteuid || (uid === process.geteuid() && (mode & 0o077) === 0)
    if (isOwn) process.getBuiltinModule('module').enableCompileCache(folder)
  } catch {
    // Without a home that can be written, only speed is lost.
  }
}

/** Runs the Node that a checkout has in `node_modules`. */
async function continueOnNewer() {
  const [fs, url, tty, child] = await Promise.all(
    ['fs', 'url', 'tty', 'child_process'].map(name => import(name)),
  )
  const exe = process.platform === 'win32' ? 'node.exe' : 'node'
  const newer = url.fileURLToPath(new URL(`../node_modules/node/bin/${exe}`, import.meta.url))
  if (!fs.existsSync(newer)) {
    const found = process.versions.node
    process.stderr.write(`service-cli needs Node 24.9 or newer, this is ${found}\n`)
    process.exit(1)
  }
  const words = [...process.execArgv, url.fileURLToPath(import.meta.url), ...args]
  const running = child.spawn(newer, words, { stdio: ['inherit', 'inherit', 'inherit', 'ipc'] })
  // Clears the arguments, which other accounts of the machine can see.
  process.title = 'service-cli'
  // A terminal sends Ctrl-C and its own end to both processes.
  const isShared = [0, 1, 2].some(fd => tty.isatty(fd))
  process.on('SIGTERM', signal => running.kill(signal))
  for (const name of ['SIGINT', 'SIGHUP']) process.on(name, () => isShared || running.kill(name))
  running.on('exit', (code, signal) => {
    if (signal === null) process.exit(code)
    process.removeAllListeners(signal)
    process.kill(process.pid, signal)
  })
}
