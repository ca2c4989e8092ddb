/** The page's HTML. Everything it shows is fetched by its script; nothing comes from elsewhere. */
export const pageHtml = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Checks</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="/web/style.css">
<script type="module" src="/web/app.js"></script>
</head>
<body>
<header>
  <h1>Monitoring</h1>
  <p id="account"></p>
  <p id="updated" role="status" aria-live="polite"></p>
  <button id="forget" type="button" hidden>Forget key</button>
</header>
<noscript><p class="notice">This page needs JavaScript. The same facts are in the API: see /openapi.json.</p></noscript>
<p id="problem" class="notice" role="alert" hidden></p>
<form id="ask" hidden>
  <h2>API key</h2>
  <p>It stays in this tab, and is forgotten when the tab is closed. The service's first start wrote one into keys.json in its data folder.</p>
  <div class="row">
    <label for="key">Key</label>
    <input id="key" name="key" type="password" autocomplete="off" spellcheck="false" required>
    <button type="submit">Show checks</button>
  </div>
</form>
<main id="main" hidden>
  <section id="linked" aria-labelledby="linked-title" hidden>
    <div class="bar"><h2 id="linked-title"></h2></div>
    <div id="linked-result" class="run-detail"></div>
  </section>
  <section id="tiles" class="tiles" aria-label="Checks by status"></section>
  <section aria-labelledby="checks-title">
    <div class="bar">
      <h2 id="checks-title">Checks</h2>
      <label class="sr" for="filter">Filter</label>
      <input id="filter" type="search" placeholder="Filter by name, type, tag, location">
    </div>
    <div class="scroll">
      <table>
        <thead>
          <tr><th>Status</th><th>Check</th><th class="wide">Where</th><th>Last runs</th><th class="num">Time</th><th class="num">Last run</th></tr>
        </thead>
        <tbody id="checks"></tbody>
      </table>
    </div>
    <nav id="pages" class="pages" aria-label="Pages" hidden>
      <button id="previous" type="button">Previous</button><span id="page"></span><button id="next" type="button">Next</button>
    </nav>
  </section>
  <section aria-labelledby="locations-title">
    <div class="bar"><h2 id="locations-title">Locations</h2></div>
    <div class="scroll">
      <table>
        <thead><tr><th>Agents</th><th>Location</th><th class="wide">Versions</th><th class="num">Keys</th><th class="num">Last seen</th></tr></thead>
        <tbody id="locations"></tbody>
      </table>
    </div>
  </section>
</main>
</body>
</html>
`;
