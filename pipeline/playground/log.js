watch("value", () => {
  const log = element.querySelector(".log");
  const done = log && log.querySelectorAll(".you");
  if (done && done.length) log.scrollTop = done[done.length - 1].offsetTop;
});
