const act = (name, words) => trigger("submit", { name, words });
const box = () => element.querySelector("input[data-name]");
element.addEventListener("click", (event) => {
  const pressed = event.target.closest("button[data-name]");
  if (!pressed || pressed.disabled) return;
  const typed = pressed.dataset.name === "search_button" && box();
  typed ? act(typed.dataset.name, typed.value) : act(pressed.dataset.name, "");
});
element.addEventListener("keydown", (event) => {
  if (event.key === "Enter" && event.target.matches("input[data-name]")) act(event.target.dataset.name, event.target.value);
});
watch("value", () => {
  const page = element.querySelector("[data-focus]");
  if (page && document.activeElement === document.body) page.focus({ preventScroll: true });
});
