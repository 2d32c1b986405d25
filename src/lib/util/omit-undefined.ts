type WithoutUndefined<Members> = {
  [Name in keyof Members as undefined extends Members[Name] ? never : Name]: Members[Name]
} & {
  [Name in keyof Members as undefined extends Members[Name] ? Name : never]?: Exclude<
    Members[Name],
    undefined
  >
}

/** Returns a copy of the object without its undefined members. */
export function omitUndefined<Members extends object>(members: Members): WithoutUndefined<Members> {
  const entries = Object.entries(members).filter(([, value]) => value !== undefined)
  return Object.fromEntries(entries) as WithoutUndefined<Members>
}
