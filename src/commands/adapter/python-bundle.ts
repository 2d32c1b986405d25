interface PythonModule {
  readonly docstring: string
  /** Modules of the standard library. */
  readonly imports: readonly string[]
  /** Modules of the package that this one imports, in order. */
  readonly needs: readonly string[]
  readonly body: string
}

const importStatement = /^(?:import ([\w.]+)|from \.(\w*) import (\([^)]*\)|[^(\n]+))\n/gm

/**
 * Joins the modules of a Python package into one file, each behind those that it imports.
 * The docstring and the code of `__init__` come first, without its imports of other modules.
 * Top-level names must be unique in the package. Throws for an import that it cannot join.
 */
export function bundlePython(source: (module: string) => string): string {
  const init = parseModule('__init__', source('__init__'))
  const ordered = new Map<string, PythonModule>()
  const opened = new Set<string>()
  const add = (name: string) => {
    if (ordered.has(name)) return
    if (opened.has(name)) throw new Error(`the import of ${name}.py is circular`)
    opened.add(name)
    const module = parseModule(name, source(name))
    module.needs.forEach(add)
    ordered.set(name, module)
  }
  init.needs.forEach(add)

  const imports = [init, ...ordered.values()].flatMap(module => module.imports)
  const importLines = [...new Set(imports)].toSorted().map(name => `import ${name}`)
  const sections = [...ordered].map(([name, module]) => `\n${heading(name, module)}${module.body}`)
  const parts = [init.docstring, importLines.join('\n'), init.body]
  const head = parts.filter(part => part !== '').join('\n\n')
  return `${[head, ...sections].join('\n\n')}\n`
}

function parseModule(name: string, text: string): PythonModule {
  const docstring = /^"""[^]*?"""/.exec(text)?.[0] ?? ''
  const imports: string[] = []
  const needs: string[] = []
  const body = text
    .slice(docstring.length)
    .replaceAll(importStatement, (statement, library?: string, module?: string) => {
      if (/ as /.test(statement)) throw new Error(`${name}.py renames what it imports`)
      if (library !== undefined) imports.push(library)
      else if (module) needs.push(module)
      return ''
    })
    .trim()
  const left = /^\s*(?:import|from) .*/m.exec(body.replaceAll(/"""[^]*?"""/g, ''))?.[0].trim()
  if (left !== undefined) throw new Error(`${name}.py has an import that cannot be joined: ${left}`)
  return { docstring, imports, needs, body }
}

/** Names the module, so that a reader of the bundle finds its source. */
function heading(name: string, { docstring }: PythonModule): string {
  const title = docstring.slice(3, -3).trim().replace(/\.$/, '')
  return `${`# --- ${title} (${name}.py) `.padEnd(98, '-')}\n\n\n`
}
