#!/usr/bin/env node
// Read by whatever Node is first in PATH: no syntax that Node 12 lacks, and no import, so that
// an old Node gets as far as the message. (Imports of built-in modules also cost time.)
const needed = '24.15'
const args = process.argv.slice(2)

if (isOlder(process.versions.node, needed)) {
  fail(`service-cli needs Node ${needed} or newer, this is ${process.versions.node}`)
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
  process.getBuiltinModule('node:module').enableCompileCache()
  const root = new URL('..', import.meta.url).href
  // No top-level await: with a closed pipe Node would end with 13 and a warning.
  void import(entry.href).then(program => program.main(args, { root, pjson }))
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
