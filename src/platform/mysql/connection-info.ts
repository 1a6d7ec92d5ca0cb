/** Where a database is. */
export interface ConnectionInfo {
  readonly host: string;
  readonly port: number;
  readonly user: string;
  readonly password: string;
  readonly database: string;
}

/** Takes `mysql://user:password@host:3306/database` apart; credentials are percent-decoded. */
export function parseMysqlUrl(text: string, defaultDatabase = 'im_control'): ConnectionInfo {
  const url = new URL(text);
  return {
    host: url.hostname.replace(/^\[|\]$/g, ''),
    port: Number(url.port || 3306),
    user: decodeURIComponent(url.username || 'root'),
    password: decodeURIComponent(url.password),
    database: decodeURIComponent(url.pathname.slice(1)) || defaultDatabase,
  };
}
