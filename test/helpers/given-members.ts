/** The settings without what was not given: members that are undefined, at any depth. */
export function givenMembers<Settings extends object>(settings: Settings): Settings {
  return JSON.parse(JSON.stringify(settings)) as Settings
}
